"""What each part of the report says before its pictures, in plain words."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Chapter:
    """A part of the report."""

    title: str
    lead: str


CHAPTERS = {
    "uses": Chapter(
        "What it means: what each setting hides, and what it is good for",
        "You have a task; people have something that is theirs. Blue, above, is what an attacker "
        "who knows all else in a home does not learn; blue, below, is what the releases serve.",
    ),
    "practice": Chapter(
        "What is done today, attacked",
        "Sums over homes are published today if there are enough homes in them, or rounded. A sum "
        "with a home less the same sum without it is that home, whatever the rule.",
    ),
    "feeder": Chapter(
        "One draw for a street",
        "The load of many homes together, such as a feeder's, released by one draw for all of "
        "them, beside the sum of what each home releases: at the same promise to each home. And "
        "what that is good for: peaks, tomorrow's load, theft, cars and panels.",
    ),
    "utility": Chapter(
        "What the released data are still good for",
        "Bills, peaks, load curves, forecasts and the sum over a street of homes, computed from "
        "what is released and compared with the truth.",
    ),
    "tv": Chapter(
        "What a meter tells of television",
        "A television set draws more power for a bright picture than for a dark one. From a meter "
        "that is read every few seconds, a film can be recognised like a tune. These experiments "
        "measure how well, and what noise leaves of it. The attacker always holds the exact "
        "signature of every candidate.",
    ),
    "home": Chapter(
        "What a meter tells of a home",
        "Which appliances ran, whether somebody was in, whether the family is on holiday, when "
        "the car was charged: how well attackers read this from a meter, and from what is "
        "released.",
    ),
    "claims": Chapter(
        "What is claimed, tried",
        "How often the best attacker is right is worked out, so that it depends on no number of "
        "trials. Here it is held against trials through the program, and the limits of the presets "
        "against homes, films and recordings that they were not chosen by.",
    ),
    "compare": Chapter(
        "Other methods, fairly",
        "Standard differential privacy, local and central, rounding, coarser readings, a battery "
        "and spending that follows the readings: at equal attack success, and at one "
        "promise to each home.",
    ),
    "choose": Chapter(
        "Choosing a setting",
        "For each thing that people may want to hide: how much noise it takes until the best "
        "attack gains next to nothing over guessing, for shorter and longer windows of time.",
    ),
    "noise": Chapter(
        "More from the same noise",
        "Several answers for each window can share one draw of noise, and agree with their order: "
        "less error at the same privacy. Where that loses, `meteragent explain` says so.",
    ),
    "audit": Chapter(
        "Does the software keep its promise?",
        "The finished program is treated as a black box: it is given pairs of homes that it must "
        "not tell apart too well, thousands of times, and what comes out is weighed. The loss "
        "that is found must not exceed the one that is promised. Programs with a deliberate "
        "mistake are weighed too, and must be caught.",
    ),
    "papers": Chapter(
        "The theory, recomputed",
        "The numbers that the underlying research papers print, computed again with this "
        "software and set beside the printed ones.",
    ),
}
"""By the first word of a result's name: what it means, then evidence, then method."""

GLOSSARY = {
    "Window": "The stretch of time, such as 15 minutes or a day, over which readings are summed up "
    "into one released number.",
    "Typical error": "By how many watts one released number is off on average, because of the "
    "noise that was added. Errors of different windows are independent, so they vanish in sums.",
    "Share of a load": "Errors in percent are of the load of one street, the same for all "
    "chapters, in the weeks of the year in which it draws least; and where no home is simulated, "
    "of a home that draws what those of the street do on average.",
    "Guessing": "What somebody reaches who has seen nothing: one in 200 for 200 films. A setting "
    "protects where attacks do little better.",
    "Confidence": "Bands and brackets hold the true value in 95 of 100 experiments like this one. "
    "Where success is worked out from the law of the noise, there are none.",
    "Epsilon": "The promise as a number: whatever is released, the odds between two versions of a "
    "home move by at most e to the power of epsilon, when the two differ by one radius in every "
    "reading.",
}
