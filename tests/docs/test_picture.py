from __future__ import annotations

from tests.docs.picture import PICTURE, draw


def test_the_picture_in_the_readme_is_what_the_demo_prints() -> None:
    assert PICTURE.read_text(encoding="utf-8") == draw()
