// The WebGL2 program. Rects come from a texture by gl_VertexID rather than as instances: a rect is one RGB32UI texel,
// just as it lies in the packed answer, and software GL is many times faster this way than with tiny instances.

import { PLAIN } from '../scene/paint';
import { TO_NEAREST } from '../scene/place';
import { BAND_MASK, STARTS_BIT } from './rects';
import { OUTLINED_SIZE, SEPARATED_HEIGHT, SEPARATED_WIDTH } from './renderer';

/** Texels in a row of the rect and colour textures: a power of two, at or below every WebGL2's least maximum. */
export const TEXTURE_WIDTH = 2048;
const SHIFT = Math.log2(TEXTURE_WIDTH);
const FETCH = `ivec2(int(i) & ${TEXTURE_WIDTH - 1}, int(i) >> ${SHIFT})`;

export const VERTEX_SHADER = `#version 300 es
precision highp float;
precision highp int;
precision highp usampler2D;

uniform usampler2D rects;
uniform usampler2D colours;
uniform vec4 place; // scale x, offset x, scale y, offset y: units to pixels, y from the bottom
uniform vec2 plot;  // pixels

flat out vec4 box;  // left, bottom, right, top, in whole pixels
flat out uint word;
flat out uint paint;

uvec4 rectAt(uint i) { return texelFetch(rects, ${FETCH}, 0); }
uint colourAt(uint i) { return texelFetch(colours, ${FETCH}, 0).r; }

void main() {
  uvec4 rect = rectAt(uint(gl_VertexID / 6));
  vec4 edges = vec4(rect.x & 0xffffu, rect.y & 0xffffu, rect.x >> 16u, rect.y >> 16u);
  box = floor(edges * place.xzxz + place.ywyw + ${TO_NEAREST});
  word = rect.z;
  paint = colourAt(word & ${BAND_MASK}u);
  int corner = gl_VertexID % 6;
  vec2 at = vec2(corner == 1 || corner >= 4 ? box.z : box.x, corner == 2 || corner == 3 || corner == 5 ? box.w : box.y);
  gl_Position = vec4(at / plot * 2.0 - 1.0, 0.0, 1.0);
}
`;

export const FRAGMENT_SHADER = `#version 300 es
precision highp float;
precision highp int;

uniform vec3 merged;
uniform vec3 mergedInk;
uniform vec4 separator; // colour and its share

flat in vec4 box;
flat in uint word;
flat in uint paint;
out vec4 pixel;

bool inPattern(uint pattern, ivec2 p) {
  switch (pattern) {
    case 1u: return (p.x + p.y) % 8 == 0;
    case 2u: return (p.x + 7 * p.y) % 8 == 0;
    case 3u: return p.x % 6 == 0 && p.y % 6 == 0;
    case 4u: return p.x % 8 == 0;
    case 5u: return p.y % 6 == 0;
    default: return false;
  }
}

void main() {
  ivec2 at = ivec2(gl_FragCoord.xy);
  vec3 colour = vec3(paint & 0xffu, (paint >> 8u) & 0xffu, (paint >> 16u) & 0xffu) / 255.0;
  bool isMerged = (word >> 31u) == 1u;
  if (isMerged && (paint >> 24u) != ${PLAIN}u) {
    bool led = (paint >> 24u) != 0u;
    pixel = vec4((at.x + at.y) % 4 == 0 ? (led ? merged : mergedInk) : (led ? colour : merged), 1.0);
    return;
  }
  bool outlined = isMerged || max(box.z - box.x, box.w - box.y) >= ${OUTLINED_SIZE}.0;
  bool line = outlined && box.w - box.y >= ${SEPARATED_HEIGHT}.0 && float(at.y) == box.w - 1.0;
  line = line || (outlined && !isMerged && (word & ${STARTS_BIT}u) != 0u && box.z - box.x >= ${SEPARATED_WIDTH}.0 && float(at.x) == box.x);
  line = line || (!isMerged && inPattern(paint >> 24u, at));
  pixel = vec4(line ? mix(colour, separator.rgb, separator.a) : colour, 1.0);
}
`;
