"""The recordings of real homes and sets that results were made with: whose they are, and which.

They are not part of this repository. Who wants the same numbers needs the same bytes: a digest is
the beginning of the SHA-256 of a file, unpacked.
"""

import gzip
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

DIGITS = 16


@dataclass(frozen=True, slots=True)
class Source:
    """Some recordings of one origin."""

    name: str
    origin: str
    licence: str
    notice: str
    files: tuple[tuple[str, str], ...]
    """Names, without folders, and digests."""


TRACEBASE = Source(
    "tracebase",
    "github.com/areinhardt/tracebase, commit 8e7cd45: 18 recordings of television sets",
    "Open Database License 1.0; contents: Database Contents License 1.0",
    "Contains information from the tracebase data set, which is made available at "
    "http://www.tracebase.org under the Open Database License (ODbL). A. Reinhardt et al., On the "
    "Accuracy of Appliance Identification Based on Distributed Load Metering Data, SustainIT 2012.",
    (
        ("complete__TV-CRT__dev_98ABAA_2011.12.30_CRT-TV.csv", "a9b2949ff7e18113"),
        ("complete__TV-CRT__dev_98ABAA_2012.01.03_CRT-TV.csv", "982a203393688fbe"),
        ("complete__TV-CRT__dev_98ABAA_2012.01.14_CRT-TV.csv", "5758e67ecf6b037f"),
        ("complete__TV-LCD__dev_B80E51_2012.01.20.csv", "34a4278d984b285d"),
        ("complete__TV-LCD__dev_B80E51_2012.07.08.csv", "75df349ac9cb09f0"),
        ("complete__TV-LCD__dev_B81116_2011.09.03.csv", "3a7d5ef944b0883d"),
        ("complete__TV-LCD__dev_B8121D_2012.01.21.csv", "6392dc2c6acb612f"),
        ("complete__TV-LCD__dev_B8121D_2012.01.26.csv", "61d68e4fcde82c9c"),
        ("complete__TV-LCD__dev_B83416_2012.02.05.csv", "81cca5bdbb7612c0"),
        ("complete__TV-LCD__dev_B83416_2012.02.12.csv", "fc64b986f5ccf08d"),
        ("complete__TV-LCD__dev_D33097_2012.01.22.csv", "7c8304d731021f3a"),
        ("complete__TV-LCD__dev_D33097_2012.01.26.csv", "f24f80506a569e85"),
        ("complete__TV-LCD__dev_D35F73_2012.06.17.csv", "39a9f1749a1d0e60"),
        ("complete__TV-LCD__device_B814DA_2012.01.20.csv", "63cc5fbb0e2fe2f1"),
        (
            "incomplete__TV-LCD__dev_D32328_2011.12.12_cleaned_12.12.2011.csv",
            "50691f917be59332",
        ),
        (
            "incomplete__TV-LCD__dev_D32328_2011.12.14_cleaned_14.12.2011.csv",
            "e0bfed2763274551",
        ),
        (
            "incomplete__TV-LCD__dev_D32328_2011.12.17_cleaned_17.12.2011.csv",
            "022684ea280acd47",
        ),
        ("incomplete__TV-LCD__dev_D33097_2011.11.27.csv", "7b15b905deed408a"),
    ),
)
KELLY = Source(
    "Jack Kelly",
    "github.com/JackKelly/disaggregation_MSc_code, commit 55d2113, and github.com/JackKelly/pda, "
    "commit f55a6ef: one home, and single appliances",
    "MIT (disaggregation_MSc_code), Apache-2.0 (pda)",
    "Copyright (c) 2011 Jack Kelly.",
    (
        ("watts_up_kettle.csv", "99c636a4130d5823"),
        ("watts_up_tumble.csv", "6f1bf27f2d6a6d76"),
        ("watts_up_washer.csv", "f38d8779ed00a2f7"),
        ("current_cost_earlyJuly.tsv", "233199e797f45f2e"),
        ("ukdale_like_house1_2013-04_aggregate_channel_1.dat", "2f770e05d1531aa6"),
    ),
)
SCEAUX = Source(
    "Individual household electric power consumption",
    "UCI Machine Learning Repository, data set 235 (G. Hebrail, A. Berard): its first 26 days",
    "to be confirmed with the repository before these are passed on",
    "A home in Sceaux, France, 2006 and 2007.",
    (("household_power_consumption_first.txt", "32377d012d4a401d"),),
)
SOURCES = (TRACEBASE, KELLY, SCEAUX)


def digest(file: Path) -> str:
    """Of what a file holds, packed or not."""
    packed = file.read_bytes()
    return sha256(gzip.decompress(packed) if file.suffix == ".gz" else packed).hexdigest()[:DIGITS]
