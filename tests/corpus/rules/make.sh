#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Writes the files and the table anew: bash tests/corpus/rules/make.sh, after a test build in build/tests (or BUILD_DIR).
set -euo pipefail
cd "$(dirname "$0")/../../.."
folder=tests/corpus/rules
rm -rf $folder/reject $folder/valid $folder/rules.tsv
ZTENSOR_WRITE_RULE_FILES=$folder "${BUILD_DIR:-build/tests}/tests/ztensor_tests" --filenames-as-tags \
    '[#refused_fields_test],[#refused_containers_test],[#footer_test]'
wc -l < $folder/rules.tsv
