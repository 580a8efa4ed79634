// SPDX-License-Identifier: MIT
//
// Ranges of a source -> their digests, on several threads: each takes the next CRC-32C, or the next few SHA-256, which
// are quicker together than one after the other.
#ifndef ZTENSOR_DETAIL_READ_HASH_BLOBS_HPP
#define ZTENSOR_DETAIL_READ_HASH_BLOBS_HPP

#include <ztensor/byte_source.hpp>
#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/checked.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/codec/crc32.hpp>
#include <ztensor/detail/codec/sha256.hpp>
#include <ztensor/detail/os/cpu.hpp>
#include <ztensor/detail/os/tasks.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>
#include <ztensor/vocabulary.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// A range inside a source, and what came of hashing it.
struct hash_task {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    digest algorithm = digest::none;
    std::uint32_t crc = crc32c_start;   ///< of CRC-32C, CRC-32: where to go on from, then the sum
    bool goes_on = false;               ///< where the task before it ends; for whoever cut a range
    std::array<std::byte, 32> sha256{}; ///< of SHA-256: the digest
    result<void> outcome;
};

/// What a thread reads into, of a source whose bytes do not stay where they lie: so much that calls cost nothing, so
/// little that it stays in the processor's cache.
inline constexpr std::size_t hash_buffer_bytes = std::size_t{1} << 18;
inline constexpr std::size_t most_hash_streams = 8;

/// Hashes all tasks, of which several threads take turns.
class blob_hasher {
public:
    blob_hasher(const byte_source& source, span<hash_task> tasks, const cpu_features& cpu) noexcept
        : source_(source), tasks_(tasks), cpu_(cpu) {}

    /// `threads` as for_each_in_parallel takes it.
    void run(unsigned threads) {
        const std::size_t wanted = threads != 0 ? threads : processor_count();
        const std::size_t workers = (std::min<std::size_t>)(wanted, tasks_.size());
        const auto is_sha256 = [](const hash_task& task) { return task.algorithm == digest::sha256; };
        const auto messages = static_cast<std::size_t>(std::count_if(tasks_.begin(), tasks_.end(), is_sha256));
        const std::size_t share = workers == 0 ? 0 : (messages + workers - 1) / workers;
        stream_count_ = (std::min)({share, sha256_most_lanes(cpu_), most_hash_streams});
        for_each_in_parallel(workers, threads, [this](std::size_t) { work(); });
    }

private:
    /// A message of several that are hashed at once.
    struct stream {
        hash_task* task = nullptr; ///< none: all are taken
        std::uint64_t read_bytes = 0;
        bytes_view part; ///< of what was read: not hashed yet
        digest_memory memory;
        span<std::byte> buffer; ///< whole blocks
    };

    /// Neighbours in the order of the file, which one call can read.
    struct near_tasks {
        span<hash_task> tasks;
        std::uint64_t bytes = 0; ///< from where the first begins to where the last of them ends
    };

    void work() {
        byte_buffer buffer;
        if (source_access::is_file(source_) || !source_access::is_mapped(source_)) {
            static_cast<void>(buffer.allocate(hash_buffer_bytes)); // where it fails the tasks that need it say so
        }
        for (near_tasks group = take_near(buffer.size()); !group.tasks.empty(); group = take_near(buffer.size())) {
            hash_near(group, buffer.writable_bytes());
        }
        while (hash_task* const task = take(next_crc32_, digest::crc32)) {
            if (task->outcome) { // else it is larger than what may be made
                task->outcome = hash_crc32(*task, buffer.writable_bytes());
            }
        }
        if (stream_count_ != 0) {
            hash_sha256(buffer.writable_bytes());
        }
    }

    /// The next task of that algorithm; null where there is none left.
    [[nodiscard]] hash_task* take(std::atomic<std::size_t>& next, digest algorithm) const noexcept {
        for (std::size_t i = next++; i < tasks_.size(); i = next++) {
            if (tasks_[i].algorithm == algorithm) {
                return &tasks_[i];
            }
        }
        return nullptr;
    }

    /// The next task of CRC-32C, with those behind it that one call can read with it into `room_bytes`: of a file, and
    /// with small gaps. Empty where none is left.
    [[nodiscard]] near_tasks take_near(std::size_t room_bytes) noexcept {
        std::size_t seen = next_crc32c_;
        for (;;) {
            std::size_t first = seen;
            while (first < tasks_.size() && tasks_[first].algorithm != digest::crc32c) {
                ++first;
            }
            const near_tasks found = first == tasks_.size() ? near_tasks() : find_near(first, room_bytes);
            if (next_crc32c_.compare_exchange_weak(seen, first + found.tasks.size())) {
                return found;
            }
        }
    }

    [[nodiscard]] near_tasks find_near(std::size_t first, std::size_t room_bytes) const noexcept {
        const std::uint64_t begin = tasks_[first].offset;
        std::uint64_t end = begin + tasks_[first].length;
        std::size_t last = first + 1;
        const bool is_file = source_access::is_file(source_);
        for (; is_file && last < tasks_.size() && tasks_[last].algorithm == digest::crc32c; ++last) {
            const hash_task& next = tasks_[last];
            const std::uint64_t next_end = (std::max)(end, next.offset + next.length);
            const bool is_near = next.offset >= begin && (next.offset <= end || next.offset - end <= most_gap_bytes);
            if (!is_near || next_end - begin > room_bytes) {
                break;
            }
            end = next_end;
        }
        return {tasks_.subspan(first, last - first), end - begin};
    }

    /// Tasks of CRC-32C, whose bytes are had at once. Where that fails each says what fails of its own.
    void hash_near(const near_tasks& group, span<std::byte> buffer) const {
        const std::uint64_t begin = group.tasks[0].offset;
        if (group.tasks.size() > 1) {
            if (const result<bytes_view> all = load(begin, group.bytes, buffer)) {
                for (hash_task& task : group.tasks) {
                    const auto length = static_cast<std::size_t>(task.length);
                    const bytes_view part = all->subspan(static_cast<std::size_t>(task.offset - begin), length);
                    task.crc = crc32c_update(task.crc, part, cpu_);
                }
                return;
            }
        }
        for (hash_task& task : group.tasks) {
            task.outcome = hash_crc(task, buffer);
        }
    }

    /// The bytes of a range: all of them where they lie in memory, else as many as the buffer holds.
    [[nodiscard]] result<bytes_view> load(std::uint64_t offset, std::uint64_t length, span<std::byte> buffer) const {
        return guard_memory([&]() -> result<bytes_view> {
            const auto stable = source_access::find_stable_range(source_, offset, length);
            if (!stable || *stable) {
                return stable ? result<bytes_view>(**stable) : stable.error();
            }
            if (buffer.empty()) {
                return fail(errc::out_of_memory, "no memory for a piece of {} bytes", {hash_buffer_bytes});
            }
            const std::uint64_t size = (std::min<std::uint64_t>)(length, buffer.size());
            const span<std::byte> part = buffer.first(static_cast<std::size_t>(size));
            ZTENSOR_TRY(source_.read_at(offset, part));
            return part;
        });
    }

    /// What is made when it is read is made once, not anew for each piece.
    [[nodiscard]] result<void> hash_crc32(hash_task& task, span<std::byte> buffer) const {
        task.crc = crc32_start;
        byte_buffer whole;
        if (source_access::is_made(source_, task.offset, task.length)) {
            if (!whole.allocate(static_cast<std::size_t>(task.length))) {
                return fail(errc::out_of_memory, "no memory for a component of {} bytes", {task.length});
            }
            buffer = whole.writable_bytes();
        }
        return hash_crc(task, buffer);
    }

    [[nodiscard]] result<void> hash_crc(hash_task& task, span<std::byte> buffer) const {
        const bool is_crc32c = task.algorithm == digest::crc32c;
        for (std::uint64_t done = 0; done < task.length;) {
            ZTENSOR_TRY_ASSIGN(const bytes_view part, load(task.offset + done, task.length - done, buffer));
            task.crc = is_crc32c ? crc32c_update(task.crc, part, cpu_) : crc32_update(task.crc, part);
            done += part.size();
        }
        return {};
    }

    void hash_sha256(span<std::byte> buffer) {
        std::array<stream, most_hash_streams> streams;
        const std::size_t room = buffer.size() / stream_count_ / sha256_block_bytes * sha256_block_bytes;
        for (std::size_t i = 0; i < stream_count_; ++i) {
            streams[i].buffer = buffer.subspan(i * room, room);
        }
        for (;;) {
            std::array<stream*, most_hash_streams> ready;
            std::array<sha256_lane, most_hash_streams> lanes;
            std::size_t count = 0;
            std::size_t blocks = static_cast<std::size_t>(-1);
            for (std::size_t i = 0; i < stream_count_; ++i) {
                stream& each = streams[i];
                if (make_ready(each)) {
                    ready[count] = &each;
                    lanes[count++] = {each.memory.words, each.part.data()};
                    blocks = (std::min<std::size_t>)(blocks, each.part.size() / sha256_block_bytes);
                }
            }
            if (count == 0) {
                return;
            }
            sha256_blocks(span<sha256_lane>(lanes.data(), count), blocks, cpu_);
            for (std::size_t i = 0; i < count; ++i) {
                ready[i]->part = ready[i]->part.subspan(blocks * sha256_block_bytes);
                ready[i]->memory.length_bytes += blocks * sha256_block_bytes;
            }
        }
    }

    /// Makes the stream have a block to hash, of the next task if its own has none left. False where no task is left.
    [[nodiscard]] bool make_ready(stream& each) {
        while (each.part.size() < sha256_block_bytes) {
            if (each.task != nullptr && each.read_bytes < each.task->length) {
                const result<bytes_view> part =
                    load(each.task->offset + each.read_bytes, each.task->length - each.read_bytes, each.buffer);
                if (part) {
                    each.part = *part;
                    each.read_bytes += part->size();
                    continue;
                }
                each.task->outcome = part.error();
            } else if (each.task != nullptr) {
                sha256_update(each.memory, each.part, cpu_);
                each.task->sha256 = sha256_value(each.memory, cpu_);
            }
            each = start(take(next_sha256_, digest::sha256), each.buffer);
            if (each.task == nullptr) {
                return false;
            }
        }
        return true;
    }

    [[nodiscard]] static stream start(hash_task* task, span<std::byte> buffer) noexcept {
        stream fresh;
        fresh.task = task;
        fresh.buffer = buffer;
        std::copy_n(sha256_start, 8, fresh.memory.words);
        return fresh;
    }

    const byte_source& source_;
    span<hash_task> tasks_;
    const cpu_features& cpu_;
    std::size_t stream_count_ = 0; ///< SHA-256 that a thread hashes at once
    std::atomic<std::size_t> next_crc32c_{0};
    std::atomic<std::size_t> next_crc32_{0};
    std::atomic<std::size_t> next_sha256_{0};
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
