"""A page that a test looks at, and what can be measured of it."""

from dataclasses import dataclass, field
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

READABLE = 11.0  #: Pixels: the smallest text that may occur.

CONTRAST = """() => {
  const parse = (colour) => (colour.match(/[\\d.]+/g) || []).map(Number);
  const luminance = ([r, g, b]) => [r, g, b]
    .map((part) => part / 255)
    .map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place], 0);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  let worst = [99, ""];
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility() || element.closest("svg")) continue;
    const [one, other] = [luminance(parse(getComputedStyle(element).color)), luminance(behind(element))];
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (ratio < worst[0]) worst = [ratio, element.outerHTML.slice(0, 120)];
  }
  return worst;
}"""

SMALLEST_TEXT = """() => {
  const sizes = [...document.querySelectorAll("main *, header *")]
    .filter((element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
    .filter((element) => element.checkVisibility())
    .map((element) => parseFloat(getComputedStyle(element).fontSize));
  return Math.min(...sizes);
}"""


@dataclass
class Visit:
    """A page that is being looked at, and what it did besides being looked at."""

    folder: Path
    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def heard(self, kind: str, text: str) -> None:
        """Take down what a page writes on the console, unless it only says what it did."""
        if kind in ("error", "warning", "assert"):
            self.complaints.append(text)

    def open(self, name: str) -> Page:
        self.page.goto((self.folder / name.partition("#")[0]).as_uri() + "".join(name.partition("#")[1:]))
        return self.page


def broken(page: Page, part: str | None = None) -> list[str]:
    """Return the rules of accessibility that a page or a part of it breaks, each with the first place."""
    loaded = {"preload": False}  # or it would fetch style sheets
    found = Axe().run(page, context=part, options=loaded).response["violations"]
    return [f"{rule['id']}: {rule['nodes'][0]['html'][:160]}" for rule in found]
