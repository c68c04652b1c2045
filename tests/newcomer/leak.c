/* A cache of pages that nobody empties. */
#include <stdlib.h>
#include <string.h>

static char **pages;

static char *render(int number) {
  char *page = malloc(20000); /* LEAK */
  memset(page, number, 20000);
  return page;
}

int main(void) {
  pages = malloc(1000 * sizeof *pages);
  for (int number = 0; number < 1000; number++) pages[number] = render(number);
  return 0;
}
