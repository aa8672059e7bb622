"""Completion for shells, written from the parser: what it takes is what is offered.

All three shells are given the same: at each place of the command line the commands and options
that may stand there, and after an option its choices, or files.
"""

from argparse import SUPPRESS, Action, ArgumentParser, _SubParsersAction
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from shlex import quote

SHELLS = ("bash", "zsh", "fish")

Offers = tuple[tuple[str, str], ...]
"""Words, and what each means."""


@dataclass(frozen=True, slots=True)
class Place:
    """Somewhere on a command line: after these words, these may stand."""

    path: str
    commands: Offers
    options: Offers
    choices: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]
    """Flags that take a value -> the values to choose from; none, if any file or word may do."""
    words: tuple[str, ...]
    """What may stand alone, if that is to be chosen from."""


def places(parser: ArgumentParser, path: str = "") -> Iterator[Place]:
    """All places, the outer ones first."""
    path = path or parser.prog
    options = [a for a in parser._actions if a.option_strings]  # noqa: SLF001
    others = [a for a in parser._actions if not a.option_strings]  # noqa: SLF001
    groups = [a for a in others if isinstance(a, _SubParsersAction)]
    yield Place(path, _commands(groups), _flags(options), _valued(options), _words(others))
    for group in groups:
        for name, inner in group.choices.items():
            yield from places(inner, f"{path} {name}")


def _commands(groups: "list[_SubParsersAction[ArgumentParser]]") -> Offers:
    commands = [command for group in groups for command in group._choices_actions]  # noqa: SLF001
    return tuple((command.dest, command.help or "") for command in commands)


def _flags(options: list[Action]) -> Offers:
    return tuple((flag, _meaning(option)) for option in options for flag in option.option_strings)


def _valued(options: list[Action]) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    return tuple((tuple(a.option_strings), _choices(a)) for a in options if a.nargs != 0)


def _words(others: list[Action]) -> tuple[str, ...]:
    alone = [action for action in others if not isinstance(action, _SubParsersAction)]
    return tuple(choice for action in alone for choice in _choices(action))


def _choices(action: Action) -> tuple[str, ...]:
    return tuple(map(str, action.choices or ()))


def script(shell: str, parser: ArgumentParser) -> str:
    """What a shell is to read, to complete the parser's program."""
    write = {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]
    return write(list(places(parser)))


def _meaning(action: Action) -> str:
    return "" if action.help in {None, SUPPRESS} else str(action.help).replace("%%", "%")


# bash and zsh: walk the words so far, then offer what may follow.


def _bash(known: list[Place]) -> str:
    offered = _offered(known, "words", lambda offers: quote(" ".join(name for name, _ in offers)))
    return f"""\
# meteragent, completed in bash: source <(meteragent completion bash)
_meteragent() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
    local at=meteragent words= options= word
    COMPREPLY=()
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$at $word" in
{_steps(known)}
        esac
    done
    case "$at $before" in
{_values(known, 'COMPREPLY=($(compgen -W {} -- "$current"))')}
    esac
    case "$at" in
{offered}
    esac
    [[ $current == -* ]] && words=$options
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _meteragent meteragent
"""


def _zsh(known: list[Place]) -> str:
    offered = _offered(known, "offered", lambda offers: f"({' '.join(map(_described, offers))})")
    return f"""\
#compdef meteragent
# meteragent, completed in zsh: source <(meteragent completion zsh)
_meteragent() {{
    local at=meteragent word before=${{words[CURRENT-1]}}
    local -a offered options
    for word in "${{(@)words[2,CURRENT-1]}}"; do
        case "$at $word" in
{_steps(known)}
        esac
    done
    case "$at $before" in
{_values(known, "compadd -- {}", "_files", split=True)}
    esac
    case "$at" in
{offered}
    esac
    if [[ $PREFIX == -* ]]; then
        _describe option options
    elif (( $#offered )); then
        _describe command offered
    else
        _files
    fi
}}
compdef _meteragent meteragent
"""


def _steps(known: list[Place]) -> str:
    """From a place to the next one, by a command."""
    return "\n".join(_case(f'"{place.path}"', f'at="{place.path}"') for place in known[1:])


def _values(known: list[Place], offer: str, otherwise: str = "", *, split: bool = False) -> str:
    """After an option that takes a value."""
    cases = []
    for place in known:
        for flags, values in place.choices:
            pattern = " | ".join(f'"{place.path} {flag}"' for flag in flags)
            listed = " ".join(map(quote, values)) if split else quote(" ".join(values))
            command = offer.format(listed) if values else otherwise
            cases.append(_case(pattern, *filter(None, (command, "return"))))
    return "\n".join(cases)


def _offered(known: list[Place], name: str, all_of: Callable[[Offers], str]) -> str:
    """What may stand in each place."""
    return "\n".join(
        _case(
            f'"{place.path}"',
            f"{name}={all_of((*place.commands, *_bare(place.words)))}",
            f"options={all_of(place.options)}",
        )
        for place in known
    )


def _case(pattern: str, *commands: str) -> str:
    return f"        {pattern}) {'; '.join(commands)} ;;"


def _bare(words: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(word, "") for word in words]


def _described(offer: tuple[str, str]) -> str:
    name, meaning = offer
    return quote(f"{name}:{meaning}" if meaning else name)


# fish: a rule for each word, with the place where it holds.


def _fish(known: list[Place]) -> str:
    rules = [rule for place in known for rule in _rules(place)]
    inner = "\n".join(
        f"            case {quote(place.path)}\n                set at {quote(place.path)}"
        for place in known[1:]
    )
    return f"""\
# meteragent, completed in fish: meteragent completion fish | source
function __meteragent_at
    set -l at meteragent
    for word in (commandline -opc)[2..]
        switch "$at $word"
{inner}
        end
    end
    test "$at" = "$argv"
end
complete -c meteragent -e
{chr(10).join(rules)}
"""


def _rules(place: Place) -> Iterator[str]:
    here = f"complete -c meteragent -n {quote(f'__meteragent_at {place.path}')}"
    for name, meaning in (*place.commands, *_bare(place.words)):
        yield f"{here} -f -a {quote(name)}" + (f" -d {quote(meaning)}" if meaning else "")
    taking = {flag: values for flags, values in place.choices for flag in flags}
    for flag, meaning in place.options:
        kind = "-l" if flag.startswith("--") else "-s"
        rule = f"{here} {kind} {quote(flag.lstrip('-'))} -d {quote(meaning)}"
        values = taking.get(flag)
        if values is None:
            yield rule
        else:
            yield f"{rule} -x -a {quote(' '.join(values))}" if values else f"{rule} -r"
