// Everything above the picture: the summary and the one row of controls.

import { render } from 'preact';
import { Headline, type HeadlineProps } from './headline';
import { Toolbar, type ToolbarProps } from './toolbar';

export interface Head {
  readonly root: HTMLElement;
  dispose(): void;
}

export function makeHead(headline: HeadlineProps, toolbar: ToolbarProps): Head {
  const root = document.createElement('div');
  root.className = 'head';
  render(
    <>
      <Headline {...headline} />
      <Toolbar {...toolbar} />
    </>,
    root,
  );
  return {
    root,
    dispose: () => {
      headline.summary.drop();
      render(null, root);
    },
  };
}
