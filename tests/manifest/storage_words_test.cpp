// SPDX-License-Identifier: MIT
//
// Words of storage types are found by the number that their characters make: no other text makes that number.
#include "support/catch.hpp"

#include <ztensor/detail/manifest/words.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace {

namespace detail = ztensor::detail;

/// What is nearly the word, and is not.
void check_neighbours_of(std::string_view word, const detail::storage_words& words) {
    const std::string exact(word);
    std::string swapped = exact;
    std::swap(swapped.front(), swapped.back());
    for (const std::string& other : {exact + '\0', exact + std::string(2, '\0'), '\0' + exact, exact + ' ',
                                     exact.substr(0, exact.size() - 1), swapped}) {
        CAPTURE(other);
        CHECK(!detail::find_storage(other, words));
    }
}

} // namespace

TEST_CASE("each storage type is found by its words, and by nothing else") {
    for (const ztensor::dtype_facts& row : ztensor::dtypes) {
        CAPTURE(row.name);
        CHECK(detail::find_storage(row.name, detail::storage_names) == row.id);
        CHECK(detail::find_storage(row.long_name, detail::long_storage_names) == row.id);
        check_neighbours_of(row.name, detail::storage_names);
        check_neighbours_of(row.long_name, detail::long_storage_names);
    }
    CHECK(!detail::find_storage("", detail::storage_names));
    CHECK(!detail::find_storage("f32f32f32", detail::storage_names));
    CHECK(!detail::find_storage(std::string(8, '\0'), detail::storage_names));
}
