// SPDX-License-Identifier: MIT
//
// Whether what is stored is what its digests and its rules say. SPEC.md section 7, section 13.8.
#ifndef ZTENSOR_DETAIL_READ_VERIFY_HPP
#define ZTENSOR_DETAIL_READ_VERIFY_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/codec/crc32.hpp>
#include <ztensor/detail/codec/digests.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/index/rules.hpp>
#include <ztensor/detail/index/sparse_rules.hpp>
#include <ztensor/detail/os/tasks.hpp>
#include <ztensor/detail/read/convert.hpp>
#include <ztensor/detail/read/decode.hpp>
#include <ztensor/detail/read/element_access.hpp>
#include <ztensor/detail/read/hash_blobs.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/detail/read/sparse_parts.hpp>
#include <ztensor/detail/read/stored.hpp>
#include <ztensor/detail/read/thread_memory.hpp>
#include <ztensor/digest.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- verify part 2
//
// All that only its data shows of one part of version 2: the digest of what it decodes to, and the rules of its
// encoding and type. SPEC.md section 13.8.

/// What a logical type demands of bytes that follow `begin` others, the part's last being number `end`.
[[nodiscard]] inline result<void> check_type_rules(const opened_file& file, const object_record& object,
                                                   const component_record& part, span<std::byte> piece,
                                                   std::uint64_t begin) {
    if (has_logical_type(part, "bool")) {
        return normalise_bools(part, piece, begin); // which changes none, and refuses all but 0 and 1
    }
    const std::uint64_t bytes = part.decoded_length().value_or(0);
    const narrow_type_facts* const type = has_checked_padding(part) ? find_narrow_type(file.index, part) : nullptr;
    if (type == nullptr || begin + piece.size() != bytes) {
        return {};
    }
    const std::uint64_t count = count_packed(file.index, object, part, *type, bytes);
    return count % 2 == 0 ? result<void>() : check_packed(part, *type, piece.last(1), 1);
}

/// Decodes the part: its digest, and every rule of its encoding and its type. What is encoded in an unknown way can't
/// be checked. Errors: decode_failed, decode_size, bad_bool, bad_padding, limit_exceeded, and what the source says.
[[nodiscard]] ZTENSOR_COLD inline result<digest_state>
verify_part_2(const opened_file& file, const object_record& object, const component_record& part) {
    const bool has_digest = part.digest_text.is_present();
    const digest_state unchecked = has_digest ? digest_state::unsupported : digest_state::absent;
    if (!part.encoding) {
        return unchecked;
    }
    decoded_stream stream(file, part, digest_use::always);
    ZTENSOR_TRY(stream.start());
    thread_memory memory;
    if (!memory.reserve(stream.best_bytes())) {
        return fail(errc::out_of_memory, "no memory for a piece of {} bytes", {stream.best_bytes()});
    }
    const span<std::byte> room = memory.first(stream.best_bytes());
    result<void> broken_rule;
    for (std::size_t made = room.size(); made == room.size();) {
        const std::uint64_t begin = stream.position();
        ZTENSOR_TRY_ASSIGN(made, stream.fill(room));
        if (broken_rule && made != 0) {
            broken_rule = check_type_rules(file, object, part, room.first(made), begin);
        }
    }
    if (const result<void> intact = stream.finish(room); !intact) { // which says more than what follows from it
        return damaged_or(intact.error());
    }
    ZTENSOR_TRY(std::move(broken_rule));
    return has_digest && known_digest(file, part).algorithm != digest::none ? digest_state::match : unchecked;
}

// -- verify 2
//
// Everything about a file of version 2 that only its data shows: its parts one by one, and the rules of layouts.
// SPEC.md section 13.8.

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
    std::vector<result<digest_state>> found(index.components.address_end(), digest_state::absent);
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

// -- verify
//
// Checking every digest of a file. Blobs are read in the order of the file, those with several names once; large ones
// are cut where their digest allows it, so that several threads can share one. SPEC.md section 7.

/// The pieces that a blob's CRC-32C is computed in: of 8 MiB, or of more where they would be very many.
[[nodiscard]] constexpr std::uint64_t crc32c_piece_bytes(std::uint64_t blob_bytes) noexcept {
    constexpr std::uint64_t least_bytes = std::uint64_t{8} << 20;
    constexpr std::uint64_t most_pieces = 4096;
    const std::uint64_t bytes = blob_bytes / most_pieces + 1;
    return bytes < least_bytes ? least_bytes : bytes;
}

/// The digests of components, all computed at once.
class digest_checks {
public:
    explicit digest_checks(const opened_file& file) : file_(file) {}

    void add(const component_record& component) {
        const bool has_digest = component.digest_text.is_present();
        const digest algorithm = has_digest ? known_digest(file_, component).algorithm : digest::none;
        checks_.push_back({&component, algorithm, 0, cover_of(file_, component)});
    }

    /// Of all that were added, on as many threads as for_each_in_parallel makes of `threads`.
    void run(unsigned threads, const cpu_features& cpu = host_cpu()) {
        std::vector<std::uint32_t> positions;
        for (std::uint32_t i = 0; i < checks_.size(); ++i) {
            if (checks_[i].algorithm != digest::none) {
                positions.push_back(i);
            }
        }
        const auto is_before = [this](std::uint32_t a, std::uint32_t b) { return checks_[a].is_before(checks_[b]); };
        if (!std::is_sorted(positions.begin(), positions.end(), is_before)) {
            sort_positions(span<std::uint32_t>(positions), is_before);
        }
        tasks_.reserve(positions.size());
        const check* last = nullptr;
        for (const std::uint32_t position : positions) {
            check& each = checks_[position];
            if (last != nullptr && !last->is_before(each)) { // another name of the same bytes
                each.first_task = last->first_task;
            } else {
                add_tasks(each);
            }
            last = &each;
        }
        blob_hasher(*file_.source, tasks_, cpu).run(threads);
        join_pieces();
    }

    /// Of the component that was added as number `position`, after run(). Errors: what the source says.
    [[nodiscard]] result<digest_state> state_of(std::size_t position) const {
        const check& asked = checks_[position];
        if (asked.algorithm == digest::none) {
            return asked.component->digest_text.is_present() ? digest_state::unsupported : digest_state::absent;
        }
        const hash_task& hashed = tasks_[asked.first_task];
        if (!hashed.outcome) {
            return damaged_or(hashed.outcome.error());
        }
        std::array<std::byte, 4> checksum;
        store_big(~hashed.crc, checksum.data(), checksum.size());
        const bytes_view value = asked.algorithm == digest::sha256 ? bytes_view(hashed.sha256) : bytes_view(checksum);
        const bool matches = are_digits_of(known_digest(file_, *asked.component).digits, value);
        return matches ? digest_state::match : digest_state::mismatch;
    }

private:
    struct check {
        const component_record* component;
        digest algorithm; ///< none: there is nothing to compute
        std::uint32_t first_task;
        digest_cover cover;

        /// In the file; false both ways for the same digest of the same bytes.
        [[nodiscard]] bool is_before(const check& other) const noexcept {
            if (cover.offset != other.cover.offset) {
                return cover.offset < other.cover.offset;
            }
            if (cover.length != other.cover.length) {
                return cover.length < other.cover.length;
            }
            return algorithm < other.algorithm;
        }
    };

    void add_tasks(check& each) {
        const std::uint64_t length = each.cover.length;
        const std::uint64_t most = each.algorithm == digest::crc32c ? crc32c_piece_bytes(length) : length;
        each.first_task = static_cast<std::uint32_t>(tasks_.size());
        std::uint64_t done = 0;
        do {
            hash_task task;
            task.offset = each.cover.offset + done;
            task.length = (std::min)(length - done, most);
            task.algorithm = each.algorithm;
            task.crc = done == 0 ? crc32c_start : 0;
            task.goes_on = done != 0;
            done += task.length;
            if (source_access::is_made(*file_.source, task.offset, task.length)) { // as a whole, in memory
                task.outcome = check_memory_limit(task.length, file_.options);
            }
            tasks_.push_back(std::move(task));
        } while (done < length);
    }

    /// Gives the first piece of each blob what comes of all of them.
    void join_pieces() {
        hash_task* first = nullptr;
        for (hash_task& task : tasks_) {
            if (!task.goes_on) {
                first = &task;
                continue;
            }
            first->crc = crc32c_combine(first->crc, task.crc, task.length);
            if (first->outcome) {
                first->outcome = std::move(task.outcome);
            }
        }
    }

    const opened_file& file_;
    std::vector<check> checks_;
    std::vector<hash_task> tasks_; ///< in the order of the file, each range once
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
