// SPDX-License-Identifier: MIT
//
// Small sparse objects, right or broken, in every generation and spelling; uses of them, and what must come of
// each.
#ifndef ZTENSOR_TESTS_LAYOUT_SPARSE_CONTENT_HPP
#define ZTENSOR_TESTS_LAYOUT_SPARSE_CONTENT_HPP

#include "support/bytes.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/error.hpp>
#include <ztensor/format.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>
#include <ztensor/sparse.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sparse {

using support::bytes;
using support::integers;
using support::largest;

/// As a file holds them.
bytes floats(const std::vector<float>& values);
bytes u64s(const integers& values);

/// A sparse matrix, perhaps a broken one.
struct csr_content {
    integers dimensions = {2, 3};
    integers indptr = {0, 1, 2};
    integers indices = {0, 2};
    std::vector<float> values = {5, 7};
};

struct coo_content {
    integers dimensions = {2, 3};
    integers coords = {0, 1, 0, 2};
    std::vector<float> values = {5, 7};
};

enum class layout { parts, one_blob, one_blob_as_specified, inline_arrays };

/// How a file holds it.
struct holding {
    const char* what;
    ztensor::version from;
    layout how;
    bool is_zstd;

    /// Whether sizes can be known when the file is opened.
    [[nodiscard]] bool states_sizes() const { return !is_zstd || from == ztensor::version::v1_2; }
    [[nodiscard]] bool is_one_blob() const { return how == layout::one_blob || how == layout::one_blob_as_specified; }
};

extern const std::vector<holding> holdings;
constexpr holding raw_parts_of_1_1 = {"1.1", ztensor::version::v1_1, layout::parts, false};
constexpr holding raw_parts_of_1_2 = {"1.2", ztensor::version::v1_2, layout::parts, false};
constexpr holding inline_arrays_of_0_1 = {"0.1 with arrays", ztensor::version::v0_1, layout::inline_arrays, false};

bytes file_of_parts(const holding& how, std::string_view format, const integers& dimensions,
                    const std::vector<support::plain_part>& parts);
/// Of 0.1; `word` is csr or coo.
bytes file_of_blob(const holding& how, const char* word, const integers& dimensions, const bytes& content,
                   const std::vector<std::pair<std::string, integers>>& arrays);
bytes file_of(const holding& how, const csr_content& content);
bytes file_of(const holding& how, const coo_content& content);

/// What came of opening a file and using the sparse object in it.
struct outcome {
    bool opened = false;
    std::optional<ztensor::errc> refusal;
    std::string object;

    friend bool operator==(const outcome& a, const outcome& b) {
        return a.opened == b.opened && a.refusal == b.refusal;
    }
};

std::ostream& operator<<(std::ostream& out, const outcome& from);

using use = std::function<ztensor::result<void>(const ztensor::object_view&)>;

template <class T, class Index = std::uint64_t>
use csr_of() {
    return [](const ztensor::object_view& object) { return support::done(ztensor::csr_view<T, Index>::from(object)); };
}
template <class T, class Index = std::uint64_t>
use coo_of() {
    return [](const ztensor::object_view& object) { return support::done(ztensor::coo_view<T, Index>::from(object)); };
}
template <class Index = std::uint64_t>
use rows_of(std::uint64_t first, std::uint64_t last) {
    return [=](const ztensor::object_view& object) {
        return support::done(ztensor::csr_view<float, Index>::from_rows(object, first, last));
    };
}

/// However the file is opened.
void check_outcome(const bytes& file, const use& call, const outcome& expected, const support::temp_dir& directory);

/// A change of what is right, and what must come of it.
template <class Content>
struct broken {
    std::string rule;
    std::function<void(Content&)> change;
    std::optional<ztensor::errc> refusal;

    [[nodiscard]] Content content() const {
        Content changed;
        change(changed);
        return changed;
    }
};

/// Faults in the numbers, which only reading them shows; in every holding.
void check_numbers(const std::vector<broken<csr_content>>& rows, const std::vector<use>& uses);
void check_numbers(const std::vector<broken<coo_content>>& rows, const std::vector<use>& uses);

} // namespace sparse

#endif
