// SPDX-License-Identifier: MIT
//
// Checking every digest of a file. Blobs are read in the order of the file, those with several names once; large ones
// are cut where their digest allows it, so that several threads can share one. SPEC.md section 7.
#ifndef ZTENSOR_DETAIL_READ_VERIFY_HPP
#define ZTENSOR_DETAIL_READ_VERIFY_HPP

#include <ztensor/detail/codec/crc32c_polynomial.hpp>
#include <ztensor/detail/codec/digest_text.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/detail/core/sort.hpp>
#include <ztensor/detail/read/decode.hpp>
#include <ztensor/detail/read/hash_blobs.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/detail/read/source_access.hpp>
#include <ztensor/detail/read/stored.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

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
