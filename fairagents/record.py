"""The base of everything declared or recorded: frozen, strict, JSON and TOML round trip."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, Strict, ValidationError
from pydantic_core import core_schema

from fairagents.errors import SpecError, did_you_mean

T = TypeVar("T")
S = TypeVar("S")


class _Ordered:
    """Makes a lax tuple field refuse what has no order, without a call back into Python."""

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        inner = handler(source)
        ordered = core_schema.custom_error_schema(
            core_schema.is_instance_schema((list, tuple)), "tuple_type"
        )
        return core_schema.json_or_python_schema(inner, core_schema.chain_schema([ordered, inner]))


Many = Annotated[tuple[T, ...], Strict(False), _Ordered()]
"""A tuple field that also takes a list; sets are refused, for they have no order."""

Listed = Annotated[tuple[T, ...], Strict(False)]
"""A tuple field that the package itself fills: it takes back the lists that checkpoints make of
tuples, at no cost; unlike `Many`, it does not guard against a person's mistake."""

Row = Annotated[tuple[S, T], Strict(False)]
"""A field of two values of their own kinds, written as a tuple or a list."""

Pair = Annotated[tuple[T, T], Strict(False)]
"""A field of two values of one kind, written as a tuple or a list."""


class Record(BaseModel):
    """A frozen, strict model whose mistakes are one clear `SpecError`.

    Unknown fields are errors, numbers are finite and not made from strings, and
    `from_json(r.to_json())` gives back an equal record; so does `from_toml(r.to_toml())` where
    there is no null, which TOML can't say.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    def __init__(self, /, **data: Any) -> None:
        try:
            # What BaseModel does, without one more call: a verdict holds some seventy records.
            self.__pydantic_validator__.validate_python(data, self_instance=self)
        except ValidationError as error:
            raise SpecError(explain(error, type(self))) from None

    # Nested records are then checked by the outermost one, so that its error names the whole path.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @classmethod
    def from_data(cls, data: object, where: str = "") -> Self:
        """Build a record from plain JSON-like data.

        Args:
            data: what `json.loads` or `tomllib.loads` returned.
            where: a file or place that the error names.

        Raises:
            SpecError: every mistake in the data, each with its path.
        """
        try:
            text = json.dumps(data)
        except (TypeError, ValueError) as error:
            # TOML knows dates and times, which no record holds.
            raise SpecError(f"{where or cls.__name__}: not plain data: {error}") from None
        return cls.from_json(text, where)

    @classmethod
    def from_json(cls, text: str | bytes, where: str = "") -> Self:
        """Read a record from JSON text; errors as in `from_data`."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise SpecError(explain(error, cls, where)) from None

    @classmethod
    def from_toml(cls, text: str, where: str = "") -> Self:
        """Read a record from TOML text; errors as in `from_data`."""
        try:
            data = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise SpecError(f"{where or cls.__name__}: not valid TOML: {error}") from None
        return cls.from_data(data, where)

    def to_data(self) -> dict[str, Any]:
        """Return plain JSON-like data without what equals its default, tags (`kind`) excepted."""
        full, lean = self.model_dump_json(), self.model_dump_json(exclude_defaults=True)
        data: dict[str, Any] = _tagged(json.loads(full), json.loads(lean))
        return data

    def to_json(self) -> str:
        """Return JSON text with sorted keys, without what equals its default."""
        return json.dumps(self.to_data(), sort_keys=True, ensure_ascii=False)

    def to_toml(self) -> str:
        """Return TOML text without what equals its default.

        Raises:
            SpecError: a null is in the way; it says where.
        """
        import tomli_w

        data = self.to_data()
        _refuse_null(data, type(self).__name__)
        return tomli_w.dumps(data)


def _tagged(full: Any, lean: Any) -> Any:
    """Put tags back into lean data: a union is read by its tag, also where that is a default."""
    if isinstance(lean, dict):
        tags = {"kind": full["kind"]} if "kind" in full else {}
        return tags | {key: _tagged(full[key], value) for key, value in lean.items()}
    if isinstance(lean, list):
        return [_tagged(*pair) for pair in zip(full, lean, strict=True)]
    return lean


def _refuse_null(value: Any, place: str) -> None:
    if value is None:
        raise SpecError(f"{place}: TOML has no null; write JSON")
    if isinstance(value, dict):
        for key, one in value.items():
            _refuse_null(one, f"{place}.{key}")
    elif isinstance(value, list):
        for i, one in enumerate(value):
            _refuse_null(one, f"{place}.{i}")


def explain(error: ValidationError, model: type[BaseModel], where: str = "") -> str:
    """Word a validation error in one line per mistake: place, what is wrong, what would be right.

    Args:
        error: what pydantic raised.
        model: the model that was being built.
        where: a file or place to name first.
    """
    lines = []
    found = error.errors(include_url=False)
    # A tuple that lost its wrong items is not too short: the items are what is wrong.
    inner = {item["loc"][:depth] for item in found for depth in range(len(item["loc"]))}
    for item in found:
        if item["type"] == "too_short" and item["loc"] in inner:
            continue
        path = ".".join(str(part) for part in item["loc"])
        place = f"{model.__name__}.{path}" if path else model.__name__
        message = item["msg"].removeprefix("Value error, ")
        if item["type"] == "extra_forbidden":
            fields = _fields_at(model, item["loc"][:-1])
            message = f"no such field; {did_you_mean(str(item['loc'][-1]), fields)}"
        elif item["type"] == "missing":
            message = "is required"
        elif (
            not isinstance(item["input"], dict | list | tuple | BaseModel)
            and repr(item["input"]) not in message
        ):
            message = f"{message}, not {item['input']!r}"
        lines.append(f"{where + ': ' if where else ''}{place}: {message}")
    return "\n".join(lines)


def _fields_at(model: type[BaseModel], path: tuple[int | str, ...]) -> list[str]:
    """Return the field names of the (nested) model at a path, as far as annotations tell."""
    found: type[BaseModel] = model
    for part in path:
        field = found.model_fields.get(part) if isinstance(part, str) else None
        if field is None:
            continue
        for candidate in _models_in(field.annotation):
            found = candidate
            break
    return list(found.model_fields)


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [m for arg in getattr(annotation, "__args__", ()) for m in _models_in(arg)]


def read_text(path: str | Path) -> str:
    """Return a UTF-8 file's text.

    Raises:
        SpecError: it can't be read, or is not UTF-8.
    """
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise SpecError(f"can't read {str(path)!r}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise SpecError(f"{str(path)!r} is not UTF-8: {error.reason}") from None


def canonical(data: Mapping[str, Any] | list[Any]) -> bytes:
    """Return the one byte string of plain data: sorted keys, no spaces, UTF-8, no NaN.

    >>> canonical({"b": 1.0, "a": [True, None]})
    b'{"a":[true,null],"b":1.0}'
    """
    text = json.dumps(
        data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode()
