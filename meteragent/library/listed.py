"""Which homes are in which groups: as a frame says it, or the file of `sanitize --groups`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from meteragent.errors import InvalidSetting
from meteragent.files import members
from meteragent.library.frames import DATES, ids_of, moments_of, opened
from meteragent.library.rows import NO_TIME
from meteragent.privacy.members import Membership

if TYPE_CHECKING:
    import narwhals as nw
    from narwhals.typing import IntoDataFrame

GroupsLike: TypeAlias = "IntoDataFrame | str | Path"
"""A frame with a row for each home of each group, or the CSV that has them."""


def listed(
    groups: GroupsLike, *, timezone: str = "UTC", normalise_ids: bool = False
) -> list[Membership]:
    """All memberships; InvalidSetting or FileRefused: what is wrong with them, and where.

    A frame has the columns of the file: `meter_id`, `group_id`, and `from` and `until` where
    homes come and go; `timezone` is that of times which do not say theirs.
    """
    if isinstance(groups, str | Path):
        return members.read(Path(groups), normalise_ids=normalise_ids)
    frame = opened(groups, "groups")
    if missing := [name for name in members.NEEDED if name not in frame.columns]:
        instead = f"name its columns {' and '.join(members.NEEDED)}"
        raise InvalidSetting("groups", f"has no column {missing[0]}", instead)
    texts = {name: ids_of(frame[name], "groups").to_list() for name in members.NEEDED}
    for name in members.TIMES:
        if name in frame.columns:
            texts[name] = _times(frame[name], timezone)
    rows = (dict(zip(texts, cells, strict=True)) for cells in zip(*texts.values(), strict=True))
    place = members.Whereabouts("groups", "row", InvalidSetting)
    found = [*members.checked(enumerate(rows), place, normalise_ids=normalise_ids)]
    if not found:
        raise InvalidSetting("groups", "names no home", "pass a row for each home of each group")
    return found


def _times(column: "nw.Series[Any]", timezone: str) -> list[str]:
    """As the file has them: milliseconds, text as it stands, nothing where there is none."""
    if isinstance(column.dtype, DATES):
        moments = moments_of(column, timezone).tolist()
        return ["" if moment == NO_TIME else str(moment) for moment in moments]
    return ids_of(column, "groups").to_list()
