#!/usr/bin/env bash
# The paper's WikiText experiment, at the size that two cores do in about an hour: sections as
# documents, and articles read whole; fitted on valid, tested on test.
#
#   experiments/wikitext/run.sh WIKITEXT CATEGORIES OUT
#
# WIKITEXT has wikitext-2/ and wikitext-103/; CATEGORIES is the table with Good Article subtopics
# (no source at hand has P31 and P279 for all articles). Results as in experiments/java/run.sh.
set -eu
wikitext=$1 categories=$2 out=$3 here=$(cd "$(dirname "$0")" && pwd)
vicinal=${VICINAL:-.venv/bin/vicinal}
$vicinal paper wikitext --data "$wikitext" --categories "$categories" --title wikitext_title \
  --title enwiki_title --column ga_subtopic --limit 2400 --out "$out"
mkdir -p "$here/results"
cp "$out"/tables/*.md "$out/run.json" "$here/results/"
# The cases quote articles of others, which are not ours to hand on.
rm -f "$here/results/cases.md"
