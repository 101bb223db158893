"""Text that attacks a page, and what a page must not have made of it in a real browser."""

from typing import Any

PRODUCT = "51317"  # of 7331 and 7, which no page has by chance
TEXTS = {
    "script": "<script>document.title = 'bad'; alert(1)</script>",
    "ends": "</script></style></title></textarea></noscript>--></bdi></code></p>]]><script>alert(1)</script><!--",
    "elements": "\"><img src=x onerror=\"document.title = 'bad'\"><svg onload=alert(1)><iframe src=javascript:alert(1)>"
    "</iframe><base href=//evil.example/><object data=x>",
    "attributes": "' onmouseover='alert(1)' x=\" onfocus=alert(1) autofocus tabindex=1 style=display:none `",
    "style": "x: expression(alert(1)); } * { display: none; background: url(//evil.example/) }",
    "javascript": "javascript:alert(1)//",
    "javascript with a tab": "java\tscript:alert(1)",
    "data": "data:text/html,<script>alert(1)</script>",
    "address": "https://evil.example/?a=<b>&amp;c",
    "credentials": "https://user:word@evil.example/",
    "entities": "&lt;script&gt;alert(1)&lt;/script&gt; &#60;b&#62; &amp;lt; ` `x` ``",
    "template": "{{7331*7}} {% raw %} {{ self }} {# x #} {%- endraw -%} ${7331*7} #{7331*7} <%= 7331*7 %>",
    "expression": "'+alert(1)+' \"+datum.x+\" \\\" \\ datum.value /\\'/",
    "invisible": "\u202egpj.exe\u2066 \u200f\u2028a\x00b\x1b[31m\x07\r\n\t\x7f\x9b\ufeff\u200b\u200d\u00ad\U000e0001z",
    "writing": "\udc80 \ud83d \U0001f469\U0001f3fd \U0001f1e9\U0001f1ea e\u0301 \u05e9\u05dc\u05d5\u05dd",
    "long": "x<b>" * 2_500,
}
# What a page has, but for links, the marks of invisible characters, and charts: their labels depend on the text.
_CENSUS = """() => {
  const active = "script, iframe, frame, object, embed, base, form, link, foreignObject, animate, set";
  const links = ["href", "src", "srcset", "action", "formaction", "data", "poster", "xlink:href"];
  const all = [...document.querySelectorAll("*")];
  const attributes = all.flatMap((each) => [...each.attributes]);
  const body = document.body.cloneNode(true);
  for (const each of body.querySelectorAll("script, style, svg")) each.remove();
  return {
    elements: all.filter((each) => !each.matches("a, .unseen, svg *"))
      .map((each) => [each.tagName, ...each.getAttributeNames().filter((name) => name !== "class")].join(" ")),
    active: all.filter((each) => each.matches(active)).length,
    handlers: attributes.map(({ name }) => name).filter((name) => name.startsWith("on")),
    addresses: attributes.filter(({ name, value }) => links.includes(name)).map(({ value }) => value),
    attributes: attributes.map(({ value }) => value).join("\\n"),
    text: body.textContent,
    charts: [...document.querySelectorAll("svg")].map((each) => each.textContent).join("\\n"),
    title: document.title,
  };
}"""


# Addresses that a page may have: links, and parts of itself.
_OURS = ("https://", "http://", "#")


def census(tab: Any) -> dict[str, Any]:
    return tab.evaluate(_CENSUS)


def assert_harmless(tab: Any, events: list[str], plain: dict[str, Any]) -> dict[str, Any]:
    """Nothing in the page ran or was requested, all of its elements are ours, and no character of it is invisible.

    `events` are those of open_page(); `plain` is the census of the page with harmless text. Gives that of the page.
    """
    found = census(tab)
    assert events == []
    assert found["title"] != "bad"
    assert found["handlers"] == []
    assert found["active"] == plain["active"]
    assert {*found["elements"]} <= {*plain["elements"]}
    assert [each for each in found["addresses"] if not each.lower().startswith(_OURS)] == []
    for text in (found["text"], found["title"], found["attributes"], found["charts"]):
        assert {char for char in text if not char.isprintable()} <= {"\n", "\xa0"}
        assert PRODUCT not in text
    return found
