"""
The Java corpus of the paper: the pre-processed GitHub projects of Karampatsis et al. (2020).

Zenodo's record 3628665 has one source file on each line, and no paths. Knows which file of the
record is which split, packed or not, and turns each into JSON lines.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass, field
from pathlib import Path

from vicinal.corpus.archives import SUFFIXES, Member, member_lines, members
from vicinal.corpus.downloading import download, is_whole
from vicinal.corpus.source import SPLITS, AbstractSource, Made, Progress, SplitFile
from vicinal.corpus.split_names import choose, is_other_form, split_of
from vicinal.corpus.tokenized import Paths, Written, write_json_lines
from vicinal.corpus.zenodo import ZENODO, Record, RecordFile, find_record
from vicinal.errors import DownloadError

RECORD = 3628665
NO_PATHS = (
    "The published files are text without paths, and none were guessed: the documents of "
    "{splits} have neither project nor directory, so no two of them are local to one another. "
    "With a list of their paths, one for each line: --paths {split}=FILE."
)
NOT_HUGE = "{origin} was taken for train: the record has no 'huge' one, which the paper trained on."
REPAIRED = "{split}: {n:,} lines were not UTF-8; what could not be read is U+FFFD."


@dataclass(frozen=True)
class JavaGitHub(AbstractSource):
    """
    The corpus with its *huge* training set, the paper's, or with the small one.

    *paths* has for some splits the paths of their lines; *server* is a Zenodo.
    """

    name: str
    about: str
    huge: bool
    _: KW_ONLY
    splits: tuple[str, ...] = SPLITS
    paths: Mapping[str, Paths] = field(default_factory=dict)
    server: str = ZENODO

    def file_name(self, split: str) -> str:
        """Name the file of a split: JSON lines."""
        return f"{split}.jsonl"

    def make(self, folder: Path, progress: Progress) -> Made:
        """Download what is not there yet, and write the documents of each split."""
        progress("asking Zenodo", 0, 0)
        record = find_record(RECORD, self.server)
        needed = self._needed(record)
        archives = [_fetched(file, folder / "record", progress) for file in needed]
        progress("looking for the splits", 0, 0)
        origins = self._locate(archives)
        written = dict(self._write(origins, folder, progress))
        return Made(
            origin={
                "record": record.page,
                "title": record.title,
                "files": [asdict(file) for file in needed],
                "not used": [file.name for file in record.files if file not in needed],
            },
            files={split: self._told(split, origins[split], written[split]) for split in origins},
            notes=tuple(self._notes(origins, written)),
        )

    def _needed(self, record: Record) -> list[RecordFile]:
        """Take the files named after a split, and where one has none, the other archives."""
        names = [file.name for file in record.files]
        chosen = choose(names, self.splits, huge=self.huge)
        rest = [name for name in names if name.endswith(SUFFIXES) and not split_of(name)]
        rest = [name for name in rest if not is_other_form(name)]
        if not rest:
            self._check_found(chosen, names)
        wanted = {*chosen.values(), *(rest if len(chosen) < len(self.splits) else ())}
        return [file for file in record.files if file.name in wanted]

    def _locate(self, archives: Sequence[Path]) -> dict[str, Member]:
        """Find the file of each split in what was downloaded."""
        found: dict[str, Member] = {}
        for archive in archives:
            inside = members(archive)
            for member in inside:
                # What is alone in an archive may be called anything: its archive has the name.
                is_known = len(inside) > 1 or split_of(member.name)
                found.setdefault(member.name if is_known else archive.name, member)
        chosen = choose(found, self.splits, huge=self.huge)
        self._check_found(chosen, list(found))
        return {split: found[chosen[split]] for split in self.splits}

    def _check_found(self, chosen: Container[str], names: Sequence[str]) -> None:
        missing = [split for split in self.splits if split not in chosen]
        if missing:
            which = "huge" if self.huge else "small"
            listed = ", ".join(sorted(names)[:20]) or "nothing"
            raise DownloadError(
                f"Expected files named after {', '.join(missing)} (for {self.name} the {which} "
                f"training set), found: {listed}. Was the record changed?"
            )

    def _write(
        self, origins: Mapping[str, Member], folder: Path, progress: Progress
    ) -> Iterator[tuple[str, Written]]:
        split_at = {(member.archive, member.name): split for split, member in origins.items()}
        for archive in dict.fromkeys(member.archive for member in origins.values()):
            wanted = {name for path, name in split_at if path == archive}
            for name, lines in member_lines(archive, wanted):
                split = split_at[archive, name]
                target, paths = folder / self.file_name(split), self.paths.get(split)
                read = _counted(lines, origins[split], progress)
                yield split, write_json_lines(read, target, language="java", paths=paths)

    def _told(self, split: str, member: Member, written: Written) -> SplitFile:
        paths = str(self.paths[split].file) if split in self.paths else ""
        counts = (written.n_lines, written.n_documents)
        return SplitFile(self.file_name(split), member.name, *counts, paths=paths)

    def _notes(
        self, origins: Mapping[str, Member], written: Mapping[str, Written]
    ) -> Iterator[str]:
        without = [split for split in self.splits if split not in self.paths]
        if without:
            yield NO_PATHS.format(splits=", ".join(without), split=without[-1])
        if self.huge and "train" in origins and "huge" not in origins["train"].name:
            yield NOT_HUGE.format(origin=origins["train"].name)
        for split, count in written.items():
            if count.n_repaired:
                yield REPAIRED.format(split=split, n=count.n_repaired)


def _fetched(file: RecordFile, folder: Path, progress: Progress) -> Path:
    """Have a file of the record: the one of an earlier attempt if it is right, else a new one."""
    target = folder / file.name
    progress(f"checking {file.name}" if target.exists() else f"downloading {file.name}", 0, 0)
    if not is_whole(target, file.checksum):
        download(
            file.url,
            target,
            checksum=file.checksum,
            progress=lambda done, total: progress(f"downloading {file.name}", done, total),
        )
    return target


def _counted(lines: Iterable[bytes], member: Member, progress: Progress) -> Iterator[bytes]:
    done = 0
    for n, line in enumerate(lines):
        done += len(line)
        if n % 1000 == 0:
            progress(f"reading {member.name}", done, member.n_bytes)
        yield line
