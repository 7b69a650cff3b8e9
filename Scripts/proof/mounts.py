"""File systems for a trial: small ones, and ones that become read-only."""

import pathlib
import subprocess


class Unavailable(Exception):
    pass


class Mounted:
    """A file system in a directory, for as long as the block lasts."""

    def __init__(self, directory, *words):
        self.directory, self.words = directory, words

    def __enter__(self):
        self.directory.mkdir(exist_ok=True)
        run("mount", *self.words, str(self.directory))
        return self.directory

    def __exit__(self, *_):
        try:
            run("umount", str(self.directory))
        except Unavailable:
            run("umount", "-l", str(self.directory))


def small(directory, mebibytes):
    return Mounted(directory, "-t", "tmpfs", "-o", f"size={mebibytes}m", "sluice-proof")


def image(file, mebibytes):
    """A file with an empty ext4 in it."""
    with open(file, "wb") as content:
        content.truncate(mebibytes << 20)
    run("mkfs.ext4", "-q", "-F", str(file))
    return file


def fragile(directory, file):
    """It becomes read-only at the first error, as most are mounted."""
    return Mounted(directory, "-o", "loop,errors=remount-ro", str(file))


def break_down(directory):
    """Has ext4 find an error."""
    device = run("findmnt", "-no", "SOURCE", str(directory)).strip().rsplit("/", 1)[-1]
    pathlib.Path(f"/sys/fs/ext4/{device}/trigger_fs_error").write_text("1")


def run(*words):
    try:
        return subprocess.run(words, check=True, capture_output=True, text=True, timeout=30).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise Unavailable(f"{' '.join(words)}: {getattr(error, 'stderr', '') or error}".strip()) from error
