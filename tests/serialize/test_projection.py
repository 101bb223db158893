from datetime import datetime
from typing import Any

import pytest

from sitemap_reader import UrlRecord, UsageError
from sitemap_reader.model import is_object, item_of, without_null
from sitemap_reader.serialize import all_fields, keys_of, line_type, parse_fields

FORM: dict[str, Any] = {
    "loc": "https://example.com/",
    "lastmod": None,
    "line": 3,
    "images": [{"loc": "https://example.com/1.jpg", "title": "One"}, {"loc": "https://example.com/2.jpg"}],
    "videos": [
        {"tag": ["a", "b"], "price": [{"value": 1.5}, {"value": 2}], "player_loc": {"value": "p"}},
        {"tag": [], "price": [], "player_loc": None},
    ],
    "news": {"title": "News", "keywords": ["x", "y"]},
    "mobile": True,
    "site": "example.com",
}


@pytest.mark.parametrize(("path", "value"), [
    ("loc", "https://example.com/"),
    *((path, None)
      for path in ("lastmod", "priority", "extras", "images.2.loc", "images.999999999", "alternates.hreflang",
                   "alternates.0.hreflang", "news.name", "videos.1.tag.0")),
    ("line", 3),
    ("mobile", True),
    ("site", "example.com"),
    ("images", FORM["images"]),
    ("images.loc", ["https://example.com/1.jpg", "https://example.com/2.jpg"]),
    ("images.title", ["One", None]),  # one position for each element, so that lists are parallel
    ("images.0", FORM["images"][0]),
    ("images.1.loc", "https://example.com/2.jpg"),
    ("news.title", "News"),
    ("news.keywords", ["x", "y"]),
    ("news.keywords.1", "y"),
    ("videos.tag", [["a", "b"], []]),
    ("videos.0.tag", ["a", "b"]),
    ("videos.tag.0", ["a", None]),
    ("videos.price.value", [[1.5, 2], []]),
    ("videos.player_loc.value", ["p", None]),
])
def test_a_path_leads_to(path: str, value: Any) -> None:
    assert parse_fields(path).select(FORM) == {path: value}


def test_json_objects_are_flat_in_the_selected_order_with_every_name() -> None:
    fields = parse_fields(" news.title, loc ,images.0.loc,site")
    assert list(fields.select(FORM).items()) == [
        ("news.title", "News"), ("loc", "https://example.com/"), ("images.0.loc", "https://example.com/1.jpg"),
        ("site", "example.com"),
    ]
    assert list(fields.select({"loc": "x"}).items()) == [
        ("news.title", None), ("loc", "x"), ("images.0.loc", None), ("site", None),
    ]
    assert fields.names == ("news.title", "loc", "images.0.loc", "site")
    assert fields.roots == {"news", "loc", "images", "site"}


@pytest.mark.parametrize(("path", "hint"), [
    ("loc", str),
    ("news.publication_date", datetime | None),
    ("images.loc", list[str]),
    ("images.0.loc", str),
    ("videos.tag", list[tuple[str, ...]]),
    ("videos.tag.0", list[str]),
    ("videos.0.tag", tuple[str, ...]),
    ("videos.0.tag.0", str),
    ("videos.price.value", list[list[float | None]]),
    ("extras.attributes.name", list[list[str]]),
])
def test_the_type_of_a_path_follows_from_the_declared_ones(path: str, hint: Any) -> None:
    (column,) = parse_fields(path).columns
    assert column.type == hint


def test_every_path_of_the_declared_line_is_a_field() -> None:
    def paths(hint: Any, before: str) -> list[str]:
        hint = without_null(hint)
        if item := item_of(hint):
            return [*paths(item, before), *paths(item, f"{before}.0")]
        inside = keys_of(hint) if is_object(hint) else {}
        return [before, *(path for name, key in inside.items() for path in paths(key, f"{before}.{name}"))]

    every = [path for name, hint in keys_of(line_type(UrlRecord)).items() for path in paths(hint, name)]
    assert len(every) >= 100
    fields = parse_fields(",".join(dict.fromkeys(every)))
    assert set(fields.select({"loc": "x"}).values()) == {"x", None}


@pytest.mark.parametrize(("text", "reported"), [
    ("", "--fields: which ones? there are loc, lastmod, "),
    (" , ", "--fields: which ones? there are loc, lastmod, "),
    ("loc,,line", "--fields: a name is missing between two commas, or at an end"),
    ("loc,", "--fields: a name is missing between two commas, or at an end"),
    ("loc,line, loc", "--fields: loc stands twice"),
    ("lastmode", "--fields: there is no lastmode; do you mean lastmod? there are loc, lastmod, "),
    ("Loc", "--fields: there is no Loc; do you mean loc? "),
    ("image.loc", "--fields: there is no image.loc; do you mean images.loc? there are loc, "),
    ("images[0].loc", "--fields: there is no images[0].loc; do you mean images.loc? "),
    ("title", "--fields: there is no title; do you mean images.title or videos.title or news.title? "),
    ("price.value", "--fields: there is no price.value; do you mean videos.price.value? "),
    ("type", "--fields: there is no type; there are loc, "),
    ("news.titel", "--fields: there is no news.titel; do you mean news.title? news has name, language, title, "),
    ("news.", "--fields: there is no news.; news has name, "),
    ("images.0.x", "--fields: there is no images.0.x; images.0 has loc, title, caption, geo_location, license"),
    ("images.-1.loc", "--fields: there is no images.-1.loc; images has loc, "),
    ("images.1234567890", "--fields: there is no images.1234567890; images has loc, "),
    ("loc.x", "--fields: there is no loc.x: loc has no parts"),
    ("videos.tag.0.x", "--fields: there is no videos.tag.0.x: videos.tag.0 has no parts"),
    ("news.0", "--fields: there is no news.0: news is no list of which an item can be picked"),
    ("0", "--fields: there is no 0: a line is no list of which an item can be picked"),
    ("a" * 100_000, "--fields: there is no aaa"),
    ("images." + "9" * 10_000, "--fields: there is no images.999"),
])
def test_unknown_field_is_reported_with_the_known_ones(text: str, reported: str) -> None:
    with pytest.raises(UsageError) as failure:
        parse_fields(text)
    assert str(failure.value).startswith(reported)


def test_the_option_that_an_error_names_can_be_another() -> None:
    with pytest.raises(UsageError, match=r"^fields: there is no x"):
        parse_fields("x", option="fields")


@pytest.mark.parametrize(("path", "wrong"), [
    ("images.loc", {"images": "https://example.com/1.jpg"}),
    ("images.loc", {"images": ["https://example.com/1.jpg"]}),
    ("images.0.loc", {"images": {"loc": "https://example.com/1.jpg"}}),
    ("news.title", {"news": 3}),
])
def test_json_object_of_another_type_is_an_error_that_names_the_key(path: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=rf"^x, {path}: {path.partition('.')[0]} is not built as in a URL's line"):
        parse_fields(f"loc,{path}").select({"loc": "x", **wrong})


def test_all_fields_are_the_keys_of_a_line_in_its_order() -> None:
    assert all_fields().names == tuple(keys_of(line_type(UrlRecord)))
