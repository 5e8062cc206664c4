#!/usr/bin/env bash
# The paper's WikiText protocol on a laptop: sections as documents, section title x category; the
# store of each split holds the split and training articles; fitted on valid, tested on test.
#
#   experiments/wikitext/run.sh WIKITEXT CATEGORIES WORK
#
# WIKITEXT has wikitext-2/ and wikitext-103/, CATEGORIES is the table of Good Article subtopics.
set -eu
wikitext=$1 categories=$2 work=$3 here=$(dirname "$0")
vicinal=${VICINAL:-.venv/bin/vicinal} python=${PYTHON:-.venv/bin/python}
mkdir -p "$work"
cp "$here/domain.toml" "$work/domain.toml" && cp "$categories" "$work/categories.tsv"
for split in valid test; do
  if [ ! -d "$work/wiki/$split" ]; then
    $python "$here/sample.py" "$wikitext/wikitext-2/wiki.train.tokens" "$categories" \
      "$work/wiki/$split/wiki.train.tokens"
    cp "$wikitext/wikitext-103/wiki.$split.tokens" "$work/wiki/$split/"
  fi
  OMP_NUM_THREADS=1 $vicinal index "$work/wiki/$split" --store "$work/wiki-$split" \
    --corpus "$work/domain.toml" --dtype bfloat16 --json > "$work/wiki-$split.json" &
done
wait
for objective in mixture knn; do
  lam=""; [ $objective = mixture ] || lam="--lam 0.25"
  $vicinal fit --store "$work/wiki-valid" --self --documents 'wiki.valid/*' --ladder --k 1024 \
    --index exact --sample 10000 --seed 0 --objective $objective $lam \
    --save "$work/wiki-$objective.params.json" --json > "$here/fit-$objective-k1024.json"
  $vicinal eval --store "$work/wiki-test" --self --documents 'wiki.test/*' --ladder --index exact \
    --params "$work/wiki-$objective.params.json" --sample 10000 --seed 1 --json \
    > "$here/eval-$objective-k1024.json"
done
