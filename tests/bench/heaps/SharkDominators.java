import java.io.File;
import java.util.List;
import java.util.Set;
import shark.AndroidObjectSizeCalculator;
import shark.CloseableHeapGraph;
import shark.FileSourceProvider;
import shark.HprofHeapGraph;
import shark.ObjectDominators;

/** Lets LeakCanary's shark build the dominator tree of a heap dump, its argument. */
public final class SharkDominators {
    public static void main(String[] arguments) throws Exception {
        try (CloseableHeapGraph graph = HprofHeapGraph.Companion.openHeapGraph(
                new FileSourceProvider(new File(arguments[0])), null, HprofHeapGraph.Companion.getDefaultRoots())) {
            System.out.println(new ObjectDominators().buildDominatorTree(graph, List.of()).size());
        }
    }
}
