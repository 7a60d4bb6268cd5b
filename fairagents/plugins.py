"""Plug-ins: frozen records with one method, found by name in a table, an entry point or a module.

In Python you pass objects. Names exist only in TOML and on the command line, where a plug-in is
written `"nash"` or `{ nash = { floor = 0.1 } }`; that is the whole grammar.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import core_schema

from fairagents.errors import SpecError, did_you_mean
from fairagents.record import Record


class Plugin(Record):
    """A frozen record with one method; its fields are its parameters.

    Identity is name *and* fields: two plug-ins of one class with other fields are two things.
    """

    name: ClassVar[str] = ""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Give a class without a name of its own the snake_case form of its class name."""
        super().__pydantic_init_subclass__(**kwargs)
        if "name" not in cls.__dict__:
            cls.name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()

    @functools.cached_property
    def label(self) -> str:
        """The name with the fields that differ from their defaults, say `"nash(floor=0.1)"`."""
        values = self.__dict__
        given = [
            f"{key}={values[key]!r}"
            for key, field in type(self).__pydantic_fields__.items()
            if values[key] != field.default
        ]
        return f"{self.name}({', '.join(given)})" if given else self.name


P = TypeVar("P", bound=Plugin)

_PLACE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")
"""What `module:attribute` looks like."""


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeio' else 'a'} {noun}"


class Plugins(Generic[P]):
    """All plug-ins of one kind, by name; nothing is imported before it is asked for.

    A name is looked up in the built-in table, then among the entry points of the group
    `fairagents.<kind>s`, then as `module:attribute`.

    Args:
        kind: a singular noun for messages and the entry-point group.
        builtin: name -> `"module:Class"`.
        plural: the group's last word when it is not `kind + "s"`.
        base: the class that every plug-in of this kind is of.
    """

    _tables: ClassVar[list[Plugins[Any]]] = []

    def __init__(
        self, kind: str, builtin: Mapping[str, str], plural: str = "", base: type = Plugin
    ) -> None:
        self.kind, self.base = kind, base
        Plugins._tables.append(self)
        self.group = f"fairagents.{plural or kind + 's'}"
        self._builtin = dict(builtin)

    @functools.cached_property
    def _found(self) -> dict[str, EntryPoint]:
        return {point.name: point for point in entry_points(group=self.group)}

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """Make `Annotated[Rule, RULES]` a field that takes references and writes them."""
        return core_schema.no_info_before_validator_function(
            self.build,
            handler(source),
            serialization=core_schema.plain_serializer_function_ser_schema(self.dump),
        )

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the JSON Schema of a reference: a name, or `{name: {field: value}}`."""
        return {"anyOf": [{"type": "string"}, {"type": "object", "maxProperties": 1}]}

    def names(self) -> list[str]:
        """Return all names, built-in ones first in their own order."""
        return [*self._builtin, *(n for n in sorted(self._found) if n not in self._builtin)]

    def __iter__(self) -> Iterator[str]:
        """Iterate over all names."""
        return iter(self.names())

    def get(self, name: str) -> Any:
        """Return the class (or ready object) of that name.

        Raises:
            SpecError: no such name (it says which one is close), or it can't be loaded.
        """
        target = self._builtin.get(name)
        if target is None and name in self._found:
            target = self._found[name].value
        if target is None and _PLACE.fullmatch(name):
            target = name
        if target is None:
            hint = (
                "one outside the table is written 'package.module:Class'"
                if ":" in name
                else did_you_mean(name, self.names())
            )
            raise SpecError(f"no {self.kind} {name!r}; {hint}")
        module, _, attribute = target.partition(":")
        try:
            return getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError, TypeError, ValueError) as error:
            raise SpecError(f"{self.kind} {name!r} can't be loaded: {error}") from error

    def build(self, ref: object) -> P:
        """Return the plug-in that a reference names.

        Args:
            ref: a plug-in (returned as it is), a name, or `{name: {field: value}}`.

        Raises:
            SpecError: no such name, its fields are wrong, or it is a plug-in of another kind.
        """
        if isinstance(ref, Plugin):
            if not isinstance(ref, self.base):
                raise self._refusal(ref.name, ref)
            return ref  # type: ignore[return-value]
        if isinstance(ref, str):
            ref = {ref: {}}
        if not isinstance(ref, Mapping) or len(ref) != 1:
            raise SpecError(
                f"a {self.kind} is written 'name' or {{name = {{field = value}}}}, not {ref!r}"
            )
        ((name, fields),) = ref.items()
        found = self.get(str(name))
        if not (
            isinstance(found, type) and issubclass(found, Plugin) and issubclass(found, self.base)
        ):
            raise self._refusal(str(name), found)
        if inspect.isabstract(found):
            lacking = ", ".join(sorted(found.__abstractmethods__))
            raise SpecError(
                f"{name!r} is an abstract {self.kind}: name a subclass of it that gives {lacking}"
            )
        if not isinstance(fields, Mapping):
            raise SpecError(f"{self.kind} {name!r} takes a table of fields, not {fields!r}")
        return found.from_data(dict(fields), f"{self.kind} {name!r}")  # type: ignore[return-value]

    def _refusal(self, name: str, found: object) -> SpecError:
        """Return the error that says what was found under a name instead of this kind."""
        cls = found if isinstance(found, type) else type(found)
        for table in Plugins._tables:
            if table is not self and table.base is not Plugin and issubclass(cls, table.base):
                return SpecError(f"{name!r} is {_a(table.kind)}, not {_a(self.kind)}")
        base = f"{self.base.__module__}:{self.base.__qualname__}"
        return SpecError(
            f"{name!r} is no {self.kind} class but {found!r:.100}; one is a subclass of {base}"
        )

    def dump(self, plugin: Plugin) -> str | dict[str, Any]:
        """Return the reference that `build` turns back into an equal plug-in."""
        cls = type(plugin)
        known = self._builtin.get(plugin.name) or (
            self._found[plugin.name].value if plugin.name in self._found else None
        )
        path = f"{cls.__module__}:{cls.__qualname__}"
        name = plugin.name if known == path else path
        fields = plugin.to_data()
        return {name: fields} if fields else name
