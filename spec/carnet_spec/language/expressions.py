"""The expressions of specifications: sorts as classes, symbols that are called, operators that build formulas.

A sort is a class (``class Key(Individual, fresh=True)``), so an action's parameters are annotated with it and static
type checkers work. Formulas are combined by ``&``, ``|``, ``~`` and :func:`implies`; terms are compared by ``==`` and
``!=``. Python's own ``and``, ``or``, ``not``, ``if`` and chained comparisons cannot be traced and raise
:class:`~carnet_spec.language.errors.MisuseError`.
"""

from __future__ import annotations

import difflib
import inspect
import itertools
import sys
from collections.abc import Callable, Sequence
from types import FrameType, FunctionType
from typing import Any, ClassVar, Generic, NoReturn, TypeGuard, TypeVar

from carnet_spec.language.errors import MisuseError
from carnet_spec.language.notation import show
from carnet_spec.language.terms import (
    BOOL,
    FALSE,
    TRUE,
    Apply,
    Equal,
    Exists,
    Forall,
    Implies,
    Kind,
    Member,
    Role,
    Sort,
    Symbol,
    Term,
    Var,
    conjunction,
    disjunction,
    negation,
    sort_of,
    substitute,
    subterms,
    variables_in,
)
from carnet_spec.language.tracing import Extent, operation_at


class Expression:
    """A term under construction; ``term`` is the finished value."""

    __slots__ = ("term",)

    def __init__(self, term: Term) -> None:
        self.term = term

    def __bool__(self) -> NoReturn:
        raise MisuseError(
            "a symbolic expression has no truth value: write & for 'and', | for 'or', ~ for 'not', implies(a, b) for "
            "'if', and (a == b) & (b == c) for a chained comparison; put comparisons in parentheses"
        )

    def __contains__(self, _item: object) -> NoReturn:
        raise MisuseError("'in' cannot be traced: write the relation applied to its arguments, or any_of(...)")

    def __iter__(self) -> NoReturn:
        raise MisuseError("a symbolic expression cannot be iterated: quantify with forall(...) or exists(...)")

    def __hash__(self) -> int:
        return hash(self.term)

    def __eq__(self, other: object) -> Formula:  # type: ignore[override]  # builds a formula instead of comparing
        return Formula(Equal(*_comparable(self, other, "==")))

    def __ne__(self, other: object) -> Formula:  # type: ignore[override]  # builds a formula instead of comparing
        return Formula(negation(Equal(*_comparable(self, other, "!="))))

    def __repr__(self) -> str:
        sort = sort_of(self.term)
        return f"the {'formula' if sort == BOOL else sort.name} '{show(self.term)}'"


class Formula(Expression):
    """An expression that is true or false in a state; ``arrow`` is where it was written with ``>>``, if it was."""

    __slots__ = ("arrow",)

    def __init__(self, term: Term, arrow: Extent | None = None) -> None:
        super().__init__(term)
        self.arrow = arrow

    def __and__(self, other: Formula) -> Formula:
        _refuse_bare_arrows(self, other, sys._getframe(1))
        return Formula(conjunction((self.term, formula_term(other, "&"))))

    def __or__(self, other: Formula) -> Formula:
        _refuse_bare_arrows(self, other, sys._getframe(1))
        return Formula(disjunction((self.term, formula_term(other, "|"))))

    def __invert__(self) -> Formula:
        return Formula(negation(self.term))

    def __rshift__(self, other: Formula) -> Formula:
        _refuse_bare_arrows(self, other, sys._getframe(1))
        return Formula(implies(self, other).term, operation_at(sys._getframe(1)))


def _refuse_bare_arrows(left: Formula, right: object, frame: FrameType) -> None:
    """Refuse the operation of a frame if an operand is written with ``>>`` and without parentheses."""
    first, second = left.arrow, right.arrow if isinstance(right, Formula) else None
    whole = operation_at(frame) if first or second else None
    if whole is None or whole in (first, second):  # an operand that is made by this operation has a name
        return
    begins = first is not None and (first.code, first.start) == (whole.code, whole.start)
    ends = second is not None and (second.code, second.end) == (whole.code, whole.end)
    if begins or ends:
        raise MisuseError(
            "Python reads >> before & and |, and a >> b >> c as (a >> b) >> c: put the implication in parentheses"
        )


class Individual(Expression):
    """Base of every sort: subclass it to declare one.

    With ``fresh=True``, actions can draw elements that were never used before; the relation of used elements is
    :func:`used`.
    """

    __slots__ = ()
    sort: ClassVar[Sort]

    def __init_subclass__(cls, *, fresh: bool = False, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__name__ == BOOL.name:
            raise MisuseError(f"a sort cannot be called {BOOL.name}, which is what formulas are: rename it")
        members = tuple(name for name, value in vars(cls).items() if isinstance(value, _MemberMark))
        cls.sort = Sort(cls.__name__, members or None, fresh)
        for name in members:
            setattr(cls, name, cls(Member(cls.sort, name)))

    def __and__(self, _other: object) -> NoReturn:
        raise MisuseError(
            f"& joins formulas, but one side is a {self.sort.name}: put the comparison in parentheses, "
            "as in (phase == Phase.HOME) & ready(gpu)"
        )

    __rand__ = __or__ = __ror__ = __and__

    def __invert__(self) -> NoReturn:
        raise MisuseError(f"~ negates a formula, not a {self.sort.name}: write a != b")


def declared_sort(what: str, sort: type[Individual]) -> Sort:
    """Return the sort that a class declares; ``what`` names its use in the error.

    Raises MisuseError if the class declares no sort.
    """
    if isinstance(sort, type) and issubclass(sort, Individual) and sort is not Individual:
        return sort.sort
    if isinstance(sort, str):
        raise MisuseError(f"{what}: {sort!r} names a sort and is none: write the class of the sort, without quotes")
    raise MisuseError(
        f"{what}: {describe(sort)} is no sort: declare one, as in 'class Key(Individual)', and write the class here"
    )


AnIndividual = TypeVar("AnIndividual", bound=Individual)


class _MemberMark:
    """A placeholder for a member until its sort exists; for type checkers it has the type of that sort."""

    __slots__ = ()

    def __get__(self, _instance: None, owner: type[AnIndividual]) -> AnIndividual:
        raise MisuseError(f"member() is written inside the class of a sort, which {owner.__name__} is not")


def member() -> _MemberMark:
    """Declare one member of an enumeration, inside the class of its sort."""
    return _MemberMark()


def _comparable(left: Expression, right: object, operator: str) -> tuple[Term, Term]:
    if isinstance(left, Formula) or isinstance(right, Formula):
        raise MisuseError(f"{operator} compares elements of a sort, not formulas: write implies(a, b) & implies(b, a)")
    if isinstance(right, _Applicable):
        raise MisuseError(f"{operator} needs two elements: apply {right.symbol.name} to its arguments")
    if not isinstance(right, Expression):
        raise MisuseError(f"{operator} needs two elements of {sort_of(left.term).name}, not {describe(right)}")
    if sort_of(left.term) != sort_of(right.term):
        raise MisuseError(f"{operator} compares a {sort_of(left.term).name} with a {sort_of(right.term).name}")
    return left.term, right.term


def formula_term(value: object, what: str) -> Term:
    """Return the term of the formula ``value``; ``what`` names its use in the error.

    Raises MisuseError if the value is no formula; the error says what to write instead.
    """
    if isinstance(value, Formula):
        return value.term
    if isinstance(value, _Applicable):
        raise MisuseError(f"{what} needs a formula: apply {value.symbol.name} to its arguments")
    if isinstance(value, Individual):
        raise MisuseError(
            f"{what} needs a formula, not a {value.sort.name}: compare it, and put comparisons in parentheses"
        )
    if isinstance(value, bool):
        raise MisuseError(f"{what} needs a formula, not {value}: write true or false from the language")
    raise MisuseError(f"{what} needs a formula, not {describe(value)}: write a relation applied to elements, or a == b")


def describe(value: object) -> str:
    """Return a description of ``value`` for an error about a misplaced value."""
    match value:
        case Expression() | str() | int() | float() | None:
            return repr(value)
        case _Applicable():
            return f"{value.symbol.name} without its arguments"
        case Role():
            return f"the role '{value.name}'"
        case type():
            return f"the {'sort' if issubclass(value, Individual) else 'class'} {value.__name__}"
        case _:
            named = getattr(value, "__name__", "")
            return f"the function {named}" if callable(value) and named else f"a {type(value).__name__}"


def implies(premise: Formula, conclusion: Formula) -> Formula:
    """Return the formula that ``premise`` implies ``conclusion``."""
    return Formula(Implies(formula_term(premise, "implies"), formula_term(conclusion, "implies")))


def all_of(*formulas: Formula) -> Formula:
    """Return the conjunction of ``formulas``; true if there are none."""
    return Formula(conjunction(tuple(formula_term(part, "all_of") for part in formulas)))


def any_of(*formulas: Formula) -> Formula:
    """Return the disjunction of ``formulas``; false if there are none."""
    return Formula(disjunction(tuple(formula_term(part, "any_of") for part in formulas)))


true = Formula(TRUE)
false = Formula(FALSE)


def parameters(function: Callable[..., object], skip: int = 0, sorts: Sequence[Sort] = ()) -> tuple[Individual, ...]:
    """Return one variable for each parameter of ``function`` after the first ``skip``, by its annotation.

    A parameter without an annotation has the sort at its place in ``sorts``, if that is given. A relation or function
    of the language has its own parameters.

    Raises MisuseError if ``function`` is no function, or the sort of a parameter is not known.
    """
    if not callable(function):
        raise MisuseError(f"expected a function, not {describe(function)}: write what it says in the body of a 'def'")
    if isinstance(function, Relation | Function):
        own = enumerate(function.symbol.domain, 1)
        return tuple(_class_of(sort)(Var(f"x{place}", sort)) for place, sort in own)
    found: list[Individual] = []
    for place, (name, annotation) in enumerate(_annotated(function)[skip:]):
        unsaid = annotation is inspect.Parameter.empty and place < len(sorts)
        sort = _class_of(sorts[place]) if unsaid else annotation
        if not _is_sort(sort):
            raise MisuseError(_without_sort(name, function))
        found.append(sort(Var(name, sort.sort)))
    return tuple(found)


def parameter_names(function: Callable[..., object]) -> Sequence[str]:
    """Return the names of a function's parameters; those of a relation are made from sort and position."""
    if isinstance(function, Relation):
        return [sort.name.lower() + str(position) for position, sort in enumerate(function.symbol.domain)]
    return _names(function) if _is_plain(function) else [*inspect.signature(function).parameters]


def _annotated(function: Callable[..., object]) -> list[tuple[str, Any]]:
    """Return the parameters of a function by name, each with its annotation."""
    if _is_plain(function):
        written, known = function.__annotations__, function.__globals__
        each = [(name, written.get(name, inspect.Parameter.empty)) for name in _names(function)]
        found = [(name, known.get(sort, sort) if isinstance(sort, str) else sort) for name, sort in each]
        if not any(isinstance(sort, str) for _, sort in found):
            return found
    signature = inspect.signature(function, eval_str=True)
    return [(name, parameter.annotation) for name, parameter in signature.parameters.items()]


def _is_plain(function: object) -> TypeGuard[FunctionType]:
    """Whether a function has only positional parameters; this is ten times as fast as :mod:`inspect`."""
    if type(function) is not FunctionType or vars(function):
        return False
    code = function.__code__
    return not code.co_kwonlyargcount and not code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)


def _names(function: FunctionType) -> tuple[str, ...]:
    return function.__code__.co_varnames[: function.__code__.co_argcount]


def _is_sort(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Individual) and value is not Individual


def _class_of(sort: Sort) -> type[Individual]:
    """Return a class for a sort that is given as a value."""
    made = type(sort.name, (Individual,), {})
    assert issubclass(made, Individual)
    made.sort = sort
    return made


def _without_sort(parameter: str, function: Callable[..., object]) -> str:
    """Return the advice how to annotate a parameter with a sort of the module, the most similar name first."""
    known = [name for name, value in getattr(function, "__globals__", {}).items() if _is_sort(value)]
    near = difflib.get_close_matches(parameter.lower(), [name.lower() for name in known], n=1, cutoff=0.3)
    alike = (name for name in known if name.lower() in near or name.lower().startswith(parameter[:1].lower()))
    fits = next(alike, known[0] if known else "SORT")
    declared = "" if known else f", where the sort is declared with 'class {fits}(Individual)'"
    if function.__name__ == "<lambda>":
        return (
            f"parameter '{parameter}' of a lambda needs a sort, which a lambda cannot say: write a function, "
            f"'def name({parameter}: {fits}, …)'{declared}"
        )
    return f"parameter '{parameter}' of {function.__qualname__} needs a sort: write '{parameter}: {fits}'{declared}"


def forall(body: Callable[..., Formula], *sorts: type[Individual], names: str = "") -> Formula:
    """Return the formula that the body holds for every element of the sorts: ``forall(lambda u: before(u, v), Slot)``.

    The bound variables have the names of the body's parameters, or the letters of ``names``.
    """
    bound, inner = _quantified(body, sorts, names)
    return Formula(Forall(bound, inner))


def exists(body: Callable[..., Formula], *sorts: type[Individual]) -> Formula:
    """Return the formula that the body holds for some elements of the sorts: ``exists(lambda k: live(k), Key)``."""
    bound, inner = _quantified(body, sorts, "")
    return Formula(Exists(bound, inner))


def _quantified(
    body: Callable[..., Formula], sorts: tuple[type[Individual], ...], letters: str
) -> tuple[tuple[Var, ...], Term]:
    if not callable(body):
        raise MisuseError(f"a quantifier needs a function of its elements, as 'lambda x: …', not {describe(body)}")
    names = list(letters or parameter_names(body))
    if len(names) != len(sorts) or not sorts:
        raise MisuseError(f"a quantifier over {len(sorts)} sorts needs a body with as many parameters, not {names}")
    with _nesting:
        each = [declared_sort("a quantifier", sort) for sort in sorts]
        bound = tuple(Var(f"{name}.{_nesting.depth}", sort) for name, sort in zip(names, each, strict=True))
        arguments = (sort(var) for var, sort in zip(bound, sorts, strict=True))
        return _rename_bound(bound, formula_term(body(*arguments), "a quantifier"))


def _rename_bound(bound: tuple[Var, ...], body: Term) -> tuple[tuple[Var, ...], Term]:
    """Rename bound variables if a formula inside ``body``, made elsewhere, binds a variable of the same name."""
    taken = {var.name for sub in subterms(body) if isinstance(sub, Forall | Exists) for var in sub.bound}
    if not any(var.name in taken for var in bound):
        return bound, body
    stems = [var.name.rpartition(".")[0] for var in bound]
    named = {var.name for var in variables_in(body)}
    free = next(depth for depth in itertools.count(1) if not any(f"{stem}.{depth}" in named for stem in stems))
    renamed = tuple(Var(f"{stem}.{free}", var.sort) for stem, var in zip(stems, bound, strict=True))
    return renamed, substitute(body, dict(zip(bound, renamed, strict=True)))


class _Nesting:
    """The number of open quantifiers; it is part of the bound variables' names, so helpers cannot capture variables."""

    depth = 0

    def __enter__(self) -> None:
        self.depth += 1

    def __exit__(self, *_: object) -> None:
        self.depth -= 1


_nesting = _Nesting()


class _Applicable:
    __slots__ = ("symbol",)

    def __init__(self, symbol: Symbol) -> None:
        self.symbol = symbol

    def _apply(self, args: tuple[Expression, ...]) -> Apply:
        symbol = self.symbol
        if len(args) != len(symbol.domain):
            raise MisuseError(f"{symbol.name} takes {len(symbol.domain)} arguments, not {len(args)}")
        for position, (arg, sort) in enumerate(zip(args, symbol.domain, strict=True), 1):
            if not isinstance(arg, Expression) or ((own := sort_of(arg.term)) is not sort and own != sort):
                found = f"a {sort_of(arg.term).name}" if isinstance(arg, Expression) else describe(arg)
                raise MisuseError(f"argument {position} of {symbol.name} must be a {sort.name}, not {found}")
        return Apply(symbol, tuple([arg.term for arg in args]))

    def __bool__(self) -> NoReturn:
        raise MisuseError(f"{self.symbol.name} must be applied to arguments before it means anything")

    def __contains__(self, _item: object) -> NoReturn:
        raise MisuseError(f"'in' cannot be traced: apply {self.symbol.name} to its arguments")

    def _unapplied(self, _other: object = None) -> NoReturn:
        raise MisuseError(f"apply {self.symbol.name} to its arguments first")

    __eq__ = __ne__ = __and__ = __rand__ = __or__ = __ror__ = __invert__ = __rshift__ = _unapplied
    __hash__ = object.__hash__


class Relation(_Applicable):
    """A relation; call it with elements to get a formula."""

    __slots__ = ()

    def __call__(self, *args: Expression) -> Formula:
        """Return the formula that the relation holds of ``args``."""
        return Formula(self._apply(args))


class Function(_Applicable, Generic[AnIndividual]):
    """A function into a sort; call it with elements to get an element."""

    __slots__ = ("to",)

    def __init__(self, symbol: Symbol, to: type[AnIndividual]) -> None:
        super().__init__(symbol)
        self.to = to

    def __call__(self, *args: Expression) -> AnIndividual:
        """Return the term for the value of the function at ``args``."""
        return self.to(self._apply(args))


def used_symbol(sort: Sort) -> Symbol:
    """Return the relation of the elements of a fresh ``sort`` that were drawn."""
    if not sort.fresh:
        raise MisuseError(f"{sort.name} has no fresh elements: declare it with fresh=True")
    return Symbol(
        f"used_{sort.name.lower()}", (sort,), BOOL, Kind.GHOST, mutable=True, says=f"the {sort.name} was drawn already"
    )


def used(element: Individual) -> Formula:
    """Return the formula that ``element`` was drawn by some ``step.fresh``."""
    return Formula(Apply(used_symbol(element.sort), (element.term,)))


# -- declarations ------------------------------------------------------------------------------------------------------
# Declarations of relations, functions, constants, variables and flags, each with its name.


def rigid_relation(name: str, *domain: type[Individual], kind: Kind = Kind.PUBLIC, says: str = "") -> Relation:
    """Declare a relation that never changes."""
    return Relation(_declared(Symbol(name, _sorts(name, domain), BOOL, kind, mutable=False, says=says)))


def rigid_flag(name: str, *, kind: Kind = Kind.TRUTH, says: str = "") -> Formula:
    """Declare a fact that never changes."""
    return Formula(Apply(_declared(Symbol(name, (), BOOL, kind, mutable=False, says=says)), ()))


def rigid_function(
    name: str, *domain: type[Individual], to: type[AnIndividual], says: str = ""
) -> Function[AnIndividual]:
    """Declare a function that never changes."""
    return Function(
        Symbol(name, _sorts(name, domain), declared_sort(name, to), Kind.PUBLIC, mutable=False, says=says), to
    )


def constant(name: str, sort: type[AnIndividual], *, says: str = "") -> AnIndividual:
    """Declare one distinguished element of ``sort``."""
    return sort(Apply(Symbol(name, (), declared_sort(name, sort), Kind.PUBLIC, mutable=False, says=says), ()))


def relation(name: str, *domain: type[Individual], kind: Kind, of: Role | None = None, says: str = "") -> Relation:
    """Declare a relation that steps change; ``of`` names the role whose own state it is."""
    return Relation(_declared(Symbol(name, _sorts(name, domain), BOOL, kind, mutable=True, role=of, says=says)))


def function(
    name: str, *domain: type[Individual], to: type[AnIndividual], kind: Kind, of: Role | None = None, says: str = ""
) -> Function[AnIndividual]:
    """Declare a function that steps change."""
    symbol = Symbol(name, _sorts(name, domain), declared_sort(name, to), kind, mutable=True, role=of, says=says)
    return Function(_declared(symbol), to)


def variable(name: str, sort: type[AnIndividual], *, of: Role, says: str = "") -> AnIndividual:
    """Declare one piece of state of the role ``of``, holding an element of ``sort``."""
    symbol = Symbol(name, (), declared_sort(name, sort), Kind.STATE, mutable=True, role=of, says=says)
    return sort(Apply(_declared(symbol), ()))


def flag(name: str, *, of: Role, says: str = "") -> Formula:
    """Declare one piece of state of the role ``of`` that is true or false, at first false."""
    return Formula(Apply(_declared(Symbol(name, (), BOOL, Kind.STATE, mutable=True, role=of, says=says)), ()))


def _declared(symbol: Symbol) -> Symbol:
    """Return the symbol, after a check of what an author may have written as text."""
    if not isinstance(symbol.kind, Kind):
        raise MisuseError(f"{symbol.name}: 'kind' takes a Kind, as Kind.STATE, not {symbol.kind!r}")
    if not isinstance(symbol.role, Role | None):
        raise MisuseError(f"{symbol.name}: 'of' takes the Role whose state it is, not {symbol.role!r}")
    return symbol


def _sorts(name: str, domain: tuple[type[Individual], ...]) -> tuple[Sort, ...]:
    return tuple(declared_sort(name, sort) for sort in domain)
