// Everything above the picture: the summary and the one row of controls.

import type { ComponentType } from 'preact';
import { Headline, type HeadlineProps } from './headline';
import { Toolbar, type ToolbarProps } from './toolbar';

export function headOf(headline: HeadlineProps, toolbar: ToolbarProps): ComponentType {
  return () => (
    <div class="head">
      <Headline {...headline} />
      <Toolbar {...toolbar} />
    </div>
  );
}
