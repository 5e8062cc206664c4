#!/usr/bin/env bash
# The paper's Java protocol: each split is its own store, every file is left out of its own search,
# fitted on the valid projects, tested on the test projects.
#
#   experiments/java/run.sh JAVA WORK      JAVA has valid/ and test/, WORK takes samples and stores
#
# Results go beside this file. The two stores are built side by side, one core each.
set -eu
java=$1 work=$2 here=$(dirname "$0")
vicinal=${VICINAL:-.venv/bin/vicinal} python=${PYTHON:-.venv/bin/python}
mkdir -p "$work"
for split in valid test; do
  [ -d "$work/java/$split" ] || $python "$here/sample.py" "$java/$split" "$work/java/$split"
  OMP_NUM_THREADS=1 $vicinal index "$work/java/$split" --store "$work/java-$split" \
    --projects-are-folders --dtype bfloat16 --json > "$work/java-$split.json" &
done
wait
for k in 1024 128; do
  $vicinal fit --store "$work/java-valid" --self --ladder --k $k --index exact --sample 10000 --seed 0 \
    --save "$work/java-k$k.params.json" --json > "$here/fit-k$k.json"
  $vicinal eval --store "$work/java-test" --self --ladder --params "$work/java-k$k.params.json" \
    --index exact --sample 10000 --seed 1 --json > "$here/eval-k$k.json"
done
# The paper's own objective and λ, for the claims about its parameters.
$vicinal fit --store "$work/java-valid" --self --ladder --k 1024 --index exact --sample 10000 --seed 0 \
  --objective knn --lam 0.25 --save "$work/java-knn.params.json" --json > "$here/fit-knn-k1024.json"
$vicinal eval --store "$work/java-test" --self --ladder --params "$work/java-knn.params.json" \
  --index exact --sample 10000 --seed 1 --json > "$here/eval-knn-k1024.json"
