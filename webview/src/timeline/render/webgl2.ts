// The WebGL2 renderer. Buffers go up once for each answer; a frame is a few uniforms and one draw call.

import type { Camera, PlotSize } from '../../canvas/camera';
import type { Rgb } from '../../canvas/colour';
import { placementOf, snap } from '../scene/place';
import { markStarts } from './rects';
import type { Painted, Renderer } from './renderer';
import type { PictureStyle } from '../../canvas/palette';
import { FRAGMENT_SHADER, TEXTURE_WIDTH, VERTEX_SHADER } from './shaders';

/** A picture on the GPU. */
interface Loaded {
  readonly painted: Painted;
  readonly rects: WebGLTexture;
  readonly colours: WebGLTexture;
}

interface Program {
  readonly program: WebGLProgram;
  readonly uniforms: Readonly<Record<(typeof UNIFORMS)[number], WebGLUniformLocation | null>>;
}

const UNIFORMS = ['rects', 'colours', 'place', 'plot', 'merged', 'mergedInk', 'separator'] as const;

export class WebGl2Renderer implements Renderer {
  readonly kind = 'webgl2';
  private program: Program;
  private picture: Loaded | null = null;
  private whole: Loaded | null = null;
  private style: PictureStyle | null = null;
  private plot: PlotSize = { width: 1, height: 1 };

  private constructor(
    readonly canvas: HTMLCanvasElement,
    private readonly gl: WebGL2RenderingContext,
  ) {
    this.program = link(gl);
  }

  /**
   * Null where there is no WebGL2, or where it refuses the program. Where it is made by software, it is taken only if
   * `force`d: with 20,000 bands it draws 15 frames a second there, and the Canvas2D renderer 60.
   */
  static create(canvas: HTMLCanvasElement, force: boolean): WebGl2Renderer | null {
    const gl = canvas.getContext('webgl2', {
      alpha: false,
      antialias: false,
      depth: false,
      powerPreference: 'low-power',
    });
    if (!gl || gl.getParameter(gl.MAX_VERTEX_TEXTURE_IMAGE_UNITS) < 2) return null;
    if (!force && isSoftware(gl)) return null;
    try {
      return new WebGl2Renderer(canvas, gl);
    } catch {
      return null;
    }
  }

  /** After a lost context came back: everything on the GPU is gone. */
  restore(): void {
    this.program = link(this.gl);
    const { picture, whole } = this;
    this.picture = null;
    this.whole = null;
    this.setPictures(picture?.painted ?? null, whole?.painted ?? null);
  }

  setPictures(picture: Painted | null, whole: Painted | null): void {
    this.picture = this.load(this.picture, picture);
    this.whole = this.load(this.whole, whole);
  }

  setStyle(style: PictureStyle): void {
    this.style = style;
  }

  resize(plot: PlotSize): void {
    this.plot = plot;
    this.canvas.width = plot.width;
    this.canvas.height = plot.height;
  }

  draw(camera: Camera): void {
    const { gl, style, plot } = this;
    if (!style || gl.isContextLost()) return;
    gl.viewport(0, 0, plot.width, plot.height);
    gl.clearColor(...unit(style.background), 1);
    gl.disable(gl.SCISSOR_TEST);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.useProgram(this.program.program);
    const at = this.program.uniforms;
    gl.uniform1i(at.rects, 0);
    gl.uniform1i(at.colours, 1);
    gl.uniform2f(at.plot, plot.width, plot.height);
    gl.uniform3f(at.merged, ...unit(style.merged));
    gl.uniform3f(at.mergedInk, ...unit(style.mergedInk));
    gl.uniform4f(at.separator, ...unit(style.separator), style.separatorShare);
    if (!this.picture) {
      if (this.whole) this.drawPicture(this.whole, camera);
      return;
    }
    if (this.whole && this.scissorTo(this.picture, camera)) {
      gl.disable(gl.SCISSOR_TEST);
      this.drawPicture(this.whole, camera);
      gl.enable(gl.SCISSOR_TEST);
      gl.clear(gl.COLOR_BUFFER_BIT);
      gl.disable(gl.SCISSOR_TEST);
    }
    this.drawPicture(this.picture, camera);
  }

  readPixel(camera: Camera, x: number, y: number): [number, number, number, number] {
    this.draw(camera);
    const out = new Uint8Array(4);
    const { gl } = this;
    gl.readPixels(Math.floor(x), this.plot.height - 1 - Math.floor(y), 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, out);
    return [out[0] ?? 0, out[1] ?? 0, out[2] ?? 0, out[3] ?? 0];
  }

  dispose(): void {
    this.setPictures(null, null);
    this.gl.deleteProgram(this.program.program);
  }

  /** Limits drawing to what a picture covers. False when it covers the whole plot. */
  private scissorTo(loaded: Loaded, camera: Camera): boolean {
    const { geometry } = loaded.painted;
    const place = placementOf(geometry, camera, this.plot);
    const { width, height } = this.plot;
    const left = snap(0, place.scaleX, place.offsetX);
    const right = snap(geometry.columns, place.scaleX, place.offsetX);
    const low = snap(0, place.scaleY, place.offsetY);
    const high = snap((geometry.y1 - geometry.y0) / geometry.yQuantum, place.scaleY, place.offsetY);
    if (left <= 0 && right >= width && low <= 0 && high >= height) return false;
    const x = Math.min(Math.max(left, 0), width);
    const y = Math.min(Math.max(low, 0), height);
    this.gl.scissor(x, y, Math.max(Math.min(right, width) - x, 0), Math.max(Math.min(high, height) - y, 0));
    return true;
  }

  private drawPicture(loaded: Loaded, camera: Camera): void {
    const { gl } = this;
    const { geometry } = loaded.painted;
    const place = placementOf(geometry, camera, this.plot);
    gl.uniform4f(this.program.uniforms.place, place.scaleX, place.offsetX, place.scaleY, place.offsetY);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, loaded.rects);
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, loaded.colours);
    gl.drawArrays(gl.TRIANGLES, 0, 6 * geometry.rects);
  }

  private load(old: Loaded | null, painted: Painted | null): Loaded | null {
    const { gl } = this;
    if (old && painted?.geometry === old.painted.geometry) {
      if (old.painted.colours !== painted.colours) fillColours(gl, old.colours, painted.colours);
      return { ...old, painted };
    }
    if (old) {
      gl.deleteTexture(old.rects);
      gl.deleteTexture(old.colours);
    }
    if (!painted) return null;
    const rects = gl.createTexture();
    const colours = gl.createTexture();
    fillTexture(gl, rects, markStarts(painted.geometry), 3);
    fillColours(gl, colours, painted.colours);
    return { painted, rects, colours };
  }
}

/** Chromium says so only by the renderer's name: `failIfMajorPerformanceCaveat` lets SwiftShader pass. */
function isSoftware(gl: WebGL2RenderingContext): boolean {
  const info = gl.getExtension('WEBGL_debug_renderer_info');
  const name: unknown = gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER);
  return /swiftshader|llvmpipe|softpipe|basic render|software/i.test(String(name));
}

function fillColours(gl: WebGL2RenderingContext, texture: WebGLTexture, colours: Uint32Array): void {
  fillTexture(gl, texture, colours, 1);
}

function fillTexture(
  gl: WebGL2RenderingContext,
  texture: WebGLTexture,
  words: Uint32Array,
  each: 1 | 3,
): void {
  const rows = Math.max(1, Math.ceil(words.length / each / TEXTURE_WIDTH));
  const padded = new Uint32Array(rows * TEXTURE_WIDTH * each);
  padded.set(words);
  const [inner, outer] = each === 3 ? [gl.RGB32UI, gl.RGB_INTEGER] : [gl.R32UI, gl.RED_INTEGER];
  gl.bindTexture(gl.TEXTURE_2D, texture);
  gl.texImage2D(gl.TEXTURE_2D, 0, inner, TEXTURE_WIDTH, rows, 0, outer, gl.UNSIGNED_INT, padded);
  for (const filter of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) {
    gl.texParameteri(gl.TEXTURE_2D, filter, gl.NEAREST);
  }
}

function link(gl: WebGL2RenderingContext): Program {
  const program = gl.createProgram();
  for (const [type, source] of [
    [gl.VERTEX_SHADER, VERTEX_SHADER],
    [gl.FRAGMENT_SHADER, FRAGMENT_SHADER],
  ] as const) {
    const shader = gl.createShader(type);
    if (!shader) throw new Error('The context is lost.');
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) {
      throw new Error(gl.getShaderInfoLog(shader) ?? 'The shader does not compile.');
    }
    gl.attachShader(program, shader);
    gl.deleteShader(shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) {
    throw new Error(gl.getProgramInfoLog(program) ?? 'The program does not link.');
  }
  const uniforms = Object.fromEntries(UNIFORMS.map((name) => [name, gl.getUniformLocation(program, name)]));
  // SAFETY: the keys are exactly UNIFORMS.
  return { program, uniforms: uniforms as Program['uniforms'] };
}

function unit([r, g, b]: Rgb): [number, number, number] {
  return [r / 255, g / 255, b / 255];
}
