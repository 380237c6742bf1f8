"""Is all that is installed in a package, or listed as being in none? ./dev package would say so after half an hour.

    packages_test.py SOURCE PREFIX             an installation in PREFIX, by a build of any options"""
import fnmatch
import pathlib
import re
import sys

# Packages that ./dev setup installs for tests alone, and the C library, which every build has.
FOR_TESTS = {"libc6-dev", "libcmocka-dev"}
SAME = {"libjpeg62-turbo-dev": "libjpeg-dev"}  # Debian's and the name that other distributions have, too


def patterns(file):
    """The paths below usr/ of an .install file or of not-installed, as those of an installation that has no folder of the machine's type."""
    lines = (line.split("#")[0].split() for line in file.read_text().splitlines())
    return [words[0].removeprefix("usr/").replace("lib/*/", "lib/") for words in lines if words]


def has(pattern, path):
    """As dh_install: a * within one name; a folder stands for all that is in it."""
    wanted, parts = pattern.split("/"), path.split("/")
    return len(wanted) <= len(parts) and all(map(fnmatch.fnmatchcase, parts, wanted))


def files_in_no_package(prefix, debian):
    listed = [pattern for file in [*debian.glob("*.install"), debian / "not-installed"] for pattern in patterns(file)]
    found = sorted(str(path.relative_to(prefix)) for path in prefix.rglob("*") if not path.is_dir())
    assert found, f"{prefix} has no files"
    return [path for path in found if not any(has(pattern, path) for pattern in listed)]


def package_of(path, debian):
    return next((file.stem for file in debian.glob("*.install") if any(has(pattern, path) for pattern in patterns(file))), None)


def needed_by(package, control):
    """The package and those of ours that apt installs with it."""
    needed, waiting = set(), [package]
    while waiting:
        name = waiting.pop()
        if name in needed:
            continue
        needed.add(name)
        paragraph = control.partition(f"\nPackage: {name}\n")[2].partition("\n\n")[0]
        depends = re.search(r"^Depends:(.*(?:\n .*)*)", paragraph, re.M)
        waiting += re.findall(r"(?:lib)?burn[a-z0-9-]*", depends.group(1)) if depends else []
    return needed


def missing_for_cmake(prefix, debian, control):
    """find_package(Burn) fails where a file of any target is missing, so whoever has the development files needs them all."""
    texts = [file.read_text() for file in prefix.glob("lib*/**/cmake/Burn/BurnTargets-*.cmake")]
    assert texts, f"{prefix} has no files for CMake"
    files = {path for text in texts for path in re.findall(r'"\$\{_IMPORT_PREFIX\}/([^"]+)"', text)}
    assert any(path.startswith("lib") for path in files), "the files of targets are not found in CMake's"
    needed = needed_by("libburn0-dev", control)
    return [path for path in sorted(files) if package_of(path, debian) not in needed]


def wanted_to_build(source):
    """What ./dev setup installs to build the libraries, the command and the datasets."""
    lists = re.findall(r'^(?:run|test|datasets)_packages="(.*?)"', (source / "dev").read_text(), re.M)
    assert len(lists) == 3, "the lists of packages are not found in dev"
    names = {name for names in lists for name in names.split() if name.endswith("-dev") or name == "protobuf-c-compiler"}
    return {SAME.get(name, name) for name in names - FOR_TESTS}


def main():
    source, prefix = map(pathlib.Path, sys.argv[1:3])
    debian = source / "packaging" / "debian"
    control = (debian / "control.in").read_text()
    build_depends = set(re.findall(r"[a-z0-9][a-z0-9.+-]+", control.partition("Build-Depends:")[2].partition("\n\n")[0]))
    described = set(re.findall(r"^Package: (\S+)", control, re.M))
    with_files = {file.stem for file in debian.glob("*.install")}
    findings = [f"{path}: in no file packaging/debian/*.install, and not in not-installed" for path in files_in_no_package(prefix, debian)]
    findings += [f"{name}: has either no paragraph in control.in or no .install" for name in sorted(described ^ with_files)]
    findings += [f"{name}: ./dev setup installs it, Build-Depends in control.in lacks it" for name in sorted(wanted_to_build(source) - build_depends)]
    findings += [f"{path}: CMake's files name it, and libburn0-dev depends on no package that has it" for path in missing_for_cmake(prefix, debian, control)]
    print("\n".join(findings) or f"{len(described)} packages have all that is installed")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
