// SPDX-License-Identifier: MIT
//
// Everything about a file of version 2 that only its data shows: its parts one by one, and the rules of layouts.
// SPEC.md section 13.8.
#ifndef ZTENSOR_DETAIL_READ_VERIFY_2_HPP
#define ZTENSOR_DETAIL_READ_VERIFY_2_HPP

#include <ztensor/detail/core/guard_memory.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/layout/sparse_rules.hpp>
#include <ztensor/detail/manifest/model.hpp>
#include <ztensor/detail/manifest/validate_sparse.hpp>
#include <ztensor/detail/os/task_group.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/detail/read/sparse_parts.hpp>
#include <ztensor/detail/read/verify_part_2.hpp>
#include <ztensor/result.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// The rules of a sparse object's indices. Errors: sparse_indptr, sparse_index, sparse_order, and as reading does.
[[nodiscard]] ZTENSOR_COLD inline result<void> verify_indices_2(const opened_file& file, const object_record& object) {
    const bool is_csr = object.format == format::sparse_csr;
    const component_record& indices = *find_component(file.index, object, is_csr ? "indices" : "coords");
    const component_record* const indptr = is_csr ? find_component(file.index, object, "indptr") : nullptr;
    if (!indices.encoding || (indptr != nullptr && !indptr->encoding)) {
        return {};
    }
    call_budget budget(file.options);
    ZTENSOR_TRY_ASSIGN(const shared_bytes columns, load_indices(file, indices, dtype::u64, loading::reads, budget));
    const shape dimensions = file.index.shape_of(object);
    const std::uint64_t entries = columns.bytes.size() / sizeof(std::uint64_t) / (is_csr ? 1 : dimensions.rank());
    if (!is_csr) {
        result<void> valid = check_coo(dimensions, entries, columns.bytes, dtype::u64);
        return valid ? check_distinct_coords(dimensions, columns.bytes, dtype::u64) : valid;
    }
    ZTENSOR_TRY_ASSIGN(const shared_bytes pointers, load_indices(file, *indptr, dtype::u64, loading::reads, budget));
    result<void> valid = check_csr(dimensions, entries, columns.bytes, pointers.bytes, dtype::u64);
    return valid ? check_rising_columns(columns.bytes, pointers.bytes, dtype::u64, errc::sparse_order) : valid;
}

/// What was found of all parts of a file.
struct verified_parts {
    std::vector<digest_state> states; ///< in the order of the parts
    result<void> broken_rule;         ///< the first in that order
};

/// On as many threads as for_each_in_parallel makes of `threads`.
[[nodiscard]] ZTENSOR_COLD inline verified_parts verify_parts_2(const opened_file& file, unsigned threads) {
    const manifest& index = file.index;
    std::vector<result<digest_state>> found(index.components.size(), digest_state::absent);
    std::vector<result<void>> rules(index.objects.size());
    for_each_in_parallel(index.objects.size(), threads, [&](std::size_t i) {
        const object_record& object = index.objects[i];
        for (std::size_t k = 0; k < object.component_count; ++k) {
            const std::size_t at = object.first_component + k;
            found[at] = guard_memory([&] { return verify_part_2(file, object, index.components[at]); });
        }
        if (is_sparse(object)) {
            rules[i] = guard_memory([&] { return verify_indices_2(file, object); });
        }
    });
    verified_parts all;
    all.states.assign(found.size(), digest_state::absent);
    for (std::size_t i = 0; i < index.objects.size(); ++i) {
        const object_record& object = index.objects[i];
        bool is_damaged = false;
        for (std::size_t k = 0; k < object.component_count; ++k) {
            const std::size_t at = object.first_component + k;
            if (found[at]) {
                all.states[at] = *found[at];
                is_damaged = is_damaged || *found[at] == digest_state::mismatch;
            } else if (all.broken_rule) {
                all.broken_rule = error(found[at].error())
                                      .in_object(index.text(object.name))
                                      .in_component(index.text(index.components[at].role));
            }
        }
        if (!rules[i] && all.broken_rule && !is_damaged) {
            all.broken_rule = error(rules[i].error()).in_object(index.text(object.name));
        }
    }
    return all;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
