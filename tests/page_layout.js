// An expression: a function that returns the faults in the layout of the document, each as a line of text.
//
// One pass over the texts. A text is a text node that is rendered; it has a box for each of its lines.
({ smallest }) => {
  const MOST = 12; // faults of a kind that are listed
  const OFF = 1.5; // pixels: boxes are rounded, and glyphs lean over their box
  const isPrint = matchMedia("print").matches;
  const faults = { wide: [], clipped: [], overlapping: [], contrast: [], small: [], broken: [] };
  const width = isPrint ? document.documentElement.offsetWidth : document.documentElement.clientWidth;
  const styles = new Map();
  const styleOf = (element) => {
    if (!styles.has(element)) styles.set(element, getComputedStyle(element));
    return styles.get(element);
  };
  const isShown = (element) => element.checkVisibility({ visibilityProperty: true });
  const parentOf = (element) => element.parentElement ?? element.getRootNode().host ?? null;
  const named = (text) => JSON.stringify(text.trim().replace(/\s+/g, " ").slice(0, 50));
  const pathOf = (element) => {
    const names = [];
    for (let each = element; each && names.length < 3; each = parentOf(each)) {
      const marks = each.id ? [`#${each.id}`] : [...each.classList].map((name) => `.${name}`);
      names.unshift([each.tagName.toLowerCase(), ...marks].join(""));
      if (each.id) break;
    }
    return names.join(" > ");
  };

  // --- colours ---

  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const colours = new Map();
  const colour = (css) => {
    if (!colours.has(css)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = css;
      canvas.fillRect(0, 0, 1, 1);
      const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
      colours.set(css, [red, green, blue, alpha / 255]);
    }
    return colours.get(css);
  };
  const over = (top, below) => {
    const alpha = top[3] + below[3] * (1 - top[3]);
    if (!alpha) return [0, 0, 0, 0];
    const mixed = [0, 1, 2].map((each) => (top[each] * top[3] + below[each] * below[3] * (1 - top[3])) / alpha);
    return [...mixed, alpha];
  };
  const faded = (one, share) => [one[0], one[1], one[2], one[3] * share];
  const luminance = (one) => {
    const linear = (share) => (share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4);
    const [red, green, blue] = one.map((each) => linear(each / 255));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrast = (one, other) => {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };
  const paper = (() => {
    const scheme = styleOf(document.documentElement).colorScheme;
    const wantsDark = !/light/.test(scheme) || matchMedia("(prefers-color-scheme: dark)").matches;
    return !isPrint && /dark/.test(scheme) && wantsDark ? [18, 18, 18, 1] : [255, 255, 255, 1];
  })();
  // The colours that an element paints below its text: its background, or the stops of a gradient without holes.
  const backgrounds = (element) => {
    const style = styleOf(element);
    const plain = colour(style.backgroundColor);
    const stops = (style.backgroundImage.match(/(?:rgba?|color|oklab|oklch|hsla?)\([^()]*\)/g) ?? []).map(colour);
    return stops.length && stops.every((each) => each[3]) ? stops.map((each) => over(each, plain)) : [plain];
  };
  const shapesOf = new Map(); // svg -> its filled shapes, with their boxes
  const shapesBelow = (text, x, y) => {
    const svg = text.ownerSVGElement;
    if (!shapesOf.has(svg)) {
      const every = [...svg.querySelectorAll("rect, path, circle, ellipse, polygon")];
      const shapes = every.filter((each) => !each.closest("defs, clipPath, mask"));
      shapesOf.set(svg, shapes.map((shape) => [shape, shape.getBoundingClientRect()]));
    }
    return shapesOf.get(svg).filter(([shape, box]) => {
      if (box.left > x || box.right < x || box.top > y || box.bottom < y) return false;
      if (!(shape.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING)) return false;
      if (!/^(rgb|color|okl|hsl)/.test(styleOf(shape).fill) || !isShown(shape)) return false;
      return shape.isPointInFill(new DOMPoint(x, y).matrixTransform(shape.getScreenCTM().inverse()));
    }).map(([shape]) => {
      let share = Number(styleOf(shape).fillOpacity);
      for (let each = shape; each !== svg; each = each.parentElement) share *= Number(styleOf(each).opacity);
      return faded(colour(styleOf(shape).fill), share);
    }).reverse();
  };
  // Elements of HTML without text that have a background, such as bars, by the stripes of the page that they touch.
  const STRIPE = 100;
  const bars = new Map();
  for (const each of document.querySelectorAll("body *")) {
    if (!(each instanceof HTMLElement) || each.textContent.trim()) continue;
    if (!colour(styleOf(each).backgroundColor)[3]) continue;
    const box = each.getBoundingClientRect();
    for (let stripe = Math.floor(box.top / STRIPE); stripe <= box.bottom / STRIPE; stripe += 1) {
      bars.set(stripe, [...(bars.get(stripe) ?? []), [each, box]]);
    }
  }
  const barsBelow = (element, x, y) => {
    const here = (bars.get(Math.floor(y / STRIPE)) ?? []).filter(([bar, box]) => {
      if (box.left > x || box.right < x || box.top > y || box.bottom < y || !bar.checkVisibility()) return false;
      return bar.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING;
    });
    const paint = ([bar]) => faded(colour(styleOf(bar).backgroundColor), Number(styleOf(bar).opacity));
    return here.map(paint).reverse();
  };
  // The least contrast of a text with what is below it. Each element is composed with its background, then faded as a
  // whole by its opacity, as a browser paints it: once with the text, once without. `beneath`: shapes and bars.
  const textContrast = (element, ink, beneath = []) => {
    let pairs = [[ink, [0, 0, 0, 0]]];
    const lie = (one) => { pairs = pairs.map(([top, below]) => [over(top, one), over(below, one)]); };
    const isInDrawing = element instanceof SVGElement;
    for (let each = element; each; each = parentOf(each)) {
      if (isInDrawing && each.tagName === "svg") beneath.forEach(lie);
      const share = Number(styleOf(each).opacity);
      const isDrawn = each instanceof HTMLElement || each.tagName === "svg";
      const painted = isDrawn ? backgrounds(each) : [[0, 0, 0, 0]];
      const on = (one) => pairs.map((pair) => pair.map((paint) => faded(over(paint, one), share)));
      pairs = painted.flatMap(on);
      if (!isInDrawing && each === element) beneath.forEach(lie);
      if (pairs.every(([, below]) => below[3] > 0.995)) break;
    }
    return Math.min(...pairs.map(([top, below]) => contrast(over(top, paper), over(below, paper))));
  };

  // --- boxes that clip ---

  const isHidden = (element) => {
    // For screen readers only: a pixel, or an empty clip. Or a label of an axis that would overlap another.
    const style = styleOf(element);
    if (style.opacity === "0") return true;
    if (/inset\((50|100)%|circle\(0/.test(style.clipPath) || /^rect\([01]px,? [01]px/.test(style.clip)) return true;
    const isPixel = element.clientWidth <= 1 && element.clientHeight <= 1;
    return isPixel && style.position === "absolute" && style.overflowX !== "visible";
  };
  const hasHint = (box) => {
    if (box.tabIndex < 0 || !box.hasAttribute("tabindex")) return false;
    if (/gradient/.test(styleOf(box).backgroundImage) && /local/.test(styleOf(box).backgroundAttachment)) return true;
    const part = box.closest("section, article") ?? document.body;
    return [...part.querySelectorAll(".hint")].some(isShown);
  };
  const boxes = new Map(); // element -> how it clips, or null
  const clipOf = (element) => {
    if (boxes.has(element)) return boxes.get(element);
    const style = styleOf(element);
    let clip = null;
    const isRoot = element === document.documentElement || element === document.body;
    const isBox = element instanceof HTMLElement && !/^(inline|contents)$/.test(style.display);
    const isDrawn = isBox || element.tagName === "svg";
    if (!isRoot && isDrawn && (style.overflowX !== "visible" || style.overflowY !== "visible")) {
      const outer = element.getBoundingClientRect();
      const left = outer.left + element.clientLeft, top = outer.top + element.clientTop;
      const right = element.clientWidth ? left + element.clientWidth : outer.right;
      const bottom = element.clientHeight ? top + element.clientHeight : outer.bottom;
      const scrolls = (value, whole, seen) => !isPrint && /auto|scroll/.test(value) && whole > seen + 1;
      clip = {
        element, left, top, right, bottom,
        x: style.overflowX !== "visible", y: style.overflowY !== "visible",
        scrollsX: scrolls(style.overflowX, element.scrollWidth, element.clientWidth),
        scrollsY: scrolls(style.overflowY, element.scrollHeight, element.clientHeight),
        isCut: style.textOverflow === "ellipsis" || style.webkitLineClamp !== "none", // it says so by an ellipsis
      };
    }
    boxes.set(element, clip);
    return clip;
  };
  const noHint = new Map(); // box that scrolls without a hint -> the texts in its hidden part
  // Records what a text's box loses, and returns what is seen of it, or null.
  const seenPart = (element, box, text) => {
    let { left, right, top, bottom } = box;
    const clipped = (what) => faults.clipped.push(`${named(text)} in ${pathOf(element)}: ${what}`);
    let isFixed = false;
    for (let each = element; each; each = parentOf(each)) {
      const clip = isFixed ? null : clipOf(each);
      if (clip) {
        const beyond = clip.x ? Math.max(clip.left - left, right - clip.right) : 0;
        // An ancestor of the line may be a little lower than its glyphs: a third of a line is not seen.
        const below = clip.y ? Math.max(clip.top - top, bottom - clip.bottom) - (bottom - top) / 4 : 0;
        if (beyond > OFF && clip.scrollsX) {
          if (!hasHint(clip.element)) noHint.set(clip.element, [...(noHint.get(clip.element) ?? []), text]);
        } else if (beyond > OFF && !clip.isCut) {
          clipped(`${Math.round(beyond)} px beyond ${pathOf(clip.element)}`);
          return null;
        }
        if (below > OFF && !clip.scrollsY && !clip.isCut) {
          clipped(`${Math.round(below)} px above or below ${pathOf(clip.element)}`);
          return null;
        }
        if (clip.x) [left, right] = [Math.max(left, clip.left), Math.min(right, clip.right)];
        if (clip.y) [top, bottom] = [Math.max(top, clip.top), Math.min(bottom, clip.bottom)];
        if (right - left <= OFF || bottom - top <= OFF) return null;
      }
      if (styleOf(each).position === "fixed") isFixed = true;
    }
    const beyond = Math.max(-left - scrollX, right + scrollX - width);
    if (beyond > OFF) clipped(`${Math.round(beyond)} px beyond the window`);
    if (top + scrollY < -OFF) clipped("above the page");
    return { left, right, top, bottom };
  };

  // --- overlaps ---

  // The corners of a slanted text of SVG, whose box is much larger than itself; else null.
  const slantedCorners = (element) => {
    const matrix = element instanceof SVGElement ? element.getScreenCTM?.() : null;
    if (!matrix || Math.abs(matrix.b) < 0.01) return null;
    const { x, y, width, height } = (element.closest("text") ?? element).getBBox();
    return inkCorners(x, x + width, y, y + height).map(([left, top]) => {
      const point = new DOMPoint(left, top).matrixTransform(matrix);
      return [point.x, point.y];
    });
  };
  // Of a line's box the ink of its glyphs: less than the ascent and descent of the font.
  const inkCorners = (left, right, top, bottom) => {
    const [near, far] = [top + 0.2 * (bottom - top), bottom - 0.1 * (bottom - top)];
    return [[left, near], [right, near], [right, far], [left, far]];
  };
  const bounds = (corners) => {
    const [xs, ys] = [0, 1].map((each) => corners.map((corner) => corner[each]));
    return { left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys) };
  };
  const depth = (one, other) => {
    // Separating axes: the least overlap along the sides of both.
    let least = Infinity;
    for (const corners of [one, other]) {
      for (const [from, to] of [[0, 1], [1, 2]]) {
        const [dx, dy] = [corners[to][0] - corners[from][0], corners[to][1] - corners[from][1]];
        const length = Math.hypot(dx, dy) || 1;
        const spans = [one, other].map((each) => each.map(([x, y]) => (x * dx + y * dy) / length));
        const end = Math.min(...spans.map((span) => Math.max(...span)));
        least = Math.min(least, end - Math.max(...spans.map((span) => Math.min(...span))));
      }
    }
    return least;
  };

  // --- the pass ---

  // On paper what is beyond the root element is beyond the page.
  const beyond = () => {
    const clips = (each) => each !== document.body && (styleOf(each).overflowX !== "visible" || clips(parentOf(each)));
    const outer = [...document.querySelectorAll("body *")].filter((each) => {
      return each.getBoundingClientRect().right + scrollX > width + 1 && isShown(each) && !clips(parentOf(each));
    });
    return outer.find((each) => !outer.some((other) => other !== each && each.contains(other)));
  };
  const widest = isPrint || document.documentElement.scrollWidth > width ? beyond() : null;
  if (widest) {
    const end = Math.round(widest.getBoundingClientRect().right);
    faults.wide.push(`${pathOf(widest)} ends at ${end} px, the window at ${width}`);
  }
  const lines = [];
  const looked = new Map(); // element, its ink -> contrast, for those of HTML
  const walker = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  const rendered = new Map();
  const isRendered = (element) => {
    if (!rendered.has(element)) {
      let is = !/^(SCRIPT|STYLE|TITLE|TEMPLATE|NOSCRIPT)$/i.test(element.tagName) && isShown(element);
      for (let each = element; is && each; each = parentOf(each)) is = !isHidden(each);
      rendered.set(element, is);
    }
    return rendered.get(element);
  };
  const checkContrast = (element, ink, text, beneath, scale) => {
    const style = styleOf(element);
    const size = parseFloat(style.fontSize) * scale;
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const isSymbol = element.closest("[aria-hidden=true]") && /^[^\p{L}\p{N}]+$/u.test(text.trim());
    const needed = isLarge || isSymbol ? 3 : 4.5;
    const found = textContrast(element, ink, beneath);
    const what = `${named(text)} in ${pathOf(element)}`;
    if (found < needed - 0.005) faults.contrast.push(`${what}: ${found.toFixed(2)}:1, needs ${needed}:1`);
    if (size < smallest && !isSymbol) faults.small.push(`${what}: ${size.toFixed(1)} px`);
  };
  // A word or a host is not broken over lines, unless it is very long or has a hyphen; URLs may be.
  const checkWords = (node, element) => {
    const word = document.createRange();
    for (const found of node.data.matchAll(/(?<!\S)[\p{L}\p{N}.]{2,20}(?![^\s,;:])/gu)) {
      word.setStart(node, found.index);
      word.setEnd(node, found.index + found[0].length);
      const tops = new Set([...word.getClientRects()].map((box) => Math.round(box.top)));
      if (tops.size > 1) faults.broken.push(`${named(found[0])} in ${pathOf(element)}: over ${tops.size} lines`);
    }
  };
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !isRendered(element)) continue;
    const isDrawn = element instanceof SVGElement;
    const style = styleOf(element);
    range.selectNodeContents(node);
    const slanted = slantedCorners(element);
    const seen = [];
    for (const box of slanted ? [bounds(slanted)] : range.getClientRects()) {
      const part = box.right - box.left > 0.5 ? seenPart(element, box, node.data) : null;
      if (part) seen.push(part);
    }
    if (!seen.length) continue;
    const ink = isDrawn ? faded(colour(style.fill), Number(style.fillOpacity)) : colour(style.webkitTextFillColor);
    if (ink[3] === 0) continue;
    const isNarrow = Math.max(...seen.map((each) => each.right - each.left)) < 200;
    if (!isDrawn && seen.length > 1 && isNarrow) checkWords(node, element);
    for (const { left, right, top, bottom } of seen) {
      const corners = slanted ?? inkCorners(left, right, top, bottom);
      lines.push({ node, element, corners, ...bounds(corners) });
    }
    if (element.closest(":disabled")) continue;
    const [{ left, right, top, bottom }] = seen;
    const scale = isDrawn ? Math.hypot(element.getScreenCTM().a, element.getScreenCTM().b) : 1;
    const [x, y] = [(left + right) / 2, (top + bottom) / 2];
    if (isDrawn) checkContrast(element, ink, node.data, shapesBelow(element, x, y), scale);
    else if (!looked.has(element)) checkContrast(element, ink, node.data, barsBelow(element, x, y), scale);
    looked.set(element, true);
  }
  for (const field of document.querySelectorAll("input[placeholder], textarea[placeholder]")) {
    if (!isRendered(field) || field.value) continue;
    const of = getComputedStyle(field, "::placeholder");
    checkContrast(field, faded(colour(of.color), Number(of.opacity)), field.placeholder, [], 1);
  }
  for (const field of document.querySelectorAll("input, select, textarea, button:enabled")) {
    if (!isRendered(field) || styleOf(field).borderTopStyle === "none") continue;
    const found = textContrast(field.parentElement, colour(styleOf(field).borderTopColor));
    if (found < 2.995) faults.contrast.push(`the border of ${pathOf(field)}: ${found.toFixed(2)}:1, needs 3:1`);
  }
  for (const [box, texts] of noHint) {
    const what = `${texts.length} texts, such as ${named(texts[0])}, hidden in ${pathOf(box)}`;
    faults.clipped.push(`${what}, which scrolls without tabindex=0 and a hint`);
  }
  // From top to bottom: a line is compared with those that it begins beside.
  lines.sort((one, other) => one.top - other.top);
  let open = [];
  for (const line of lines) {
    open = open.filter((other) => other.bottom > line.top + OFF);
    for (const other of open) {
      if (other.node === line.node || other.right < line.left + OFF || other.left > line.right - OFF) continue;
      const by = depth(line.corners, other.corners);
      const what = `${named(other.node.data)} and ${named(line.node.data)} in ${pathOf(line.element)}`;
      if (by > OFF) faults.overlapping.push(`${what}, by ${by.toFixed(1)} px`);
    }
    open.push(line);
  }
  return Object.entries(faults).flatMap(([kind, all]) => {
    const different = [...new Set(all)];
    const shown = different.slice(0, MOST).map((fault) => `${kind}: ${fault}`);
    return different.length > MOST ? [...shown, `${kind}: and ${different.length - MOST} more`] : shown;
  });
};
