#!/usr/bin/env bash
# The paper's Java experiment, at the size that two cores do in about an hour: fitted on the valid
# projects, tested on the test projects, every file left out of its own search.
#
#   experiments/java/run.sh JAVA OUT      JAVA has valid/ and test/; OUT takes store and report
#
# Tables and the record of the run (settings, seeds, versions, commit) go into results/ beside this.
set -eu
java=$1 out=$2 here=$(cd "$(dirname "$0")" && pwd)
vicinal=${VICINAL:-.venv/bin/vicinal}
$vicinal paper java --data "$java" --limit 2000 --out "$out"
mkdir -p "$here/results"
cp "$out"/tables/*.md "$out/run.json" "$here/results/"
# The cases quote sources of others, which are not ours to hand on.
rm -f "$here/results/cases.md"
