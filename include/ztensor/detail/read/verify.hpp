// SPDX-License-Identifier: MIT
//
// Whether what is stored is what its digests and its rules say. SPEC.md section 7, section 13.8.
#ifndef ZTENSOR_DETAIL_READ_VERIFY_HPP
#define ZTENSOR_DETAIL_READ_VERIFY_HPP

#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/codec/crc32.hpp>
#include <ztensor/detail/codec/sha256.hpp>
#include <ztensor/detail/read/convert.hpp>
#include <ztensor/detail/read/decoded_stream.hpp>
#include <ztensor/detail/read/progress_meter.hpp>
#include <ztensor/detail/read/siblings.hpp>
#include <ztensor/detail/read/sparse_parts.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// What was found of all parts of a file.
struct verified_parts {
    vector<digest_state> states; ///< in the order of the parts
    result<void> broken_rule;    ///< the first in that order, which only decoding shows
};

// -- decoded
//
// All that only its data shows of a part whose digest covers what it decodes to: that digest, and the rules of its
// encoding and type; and of a whole file of such parts, with the rules of layouts. SPEC.md section 13.8.

/// What a logical type demands of bytes that follow `begin` others, the part's last being number `end`.
inline result<void> check_type_rules(const opened_file& file, const object_record& object, const component_record& part,
                                     span<byte> piece, uint64_t begin) {
    if (has_logical_type(part, "bool")) {
        return normalise_bools(part, piece, begin); // which changes none, and refuses all but 0 and 1
    }
    const uint64_t bytes = part.decoded_length().value_or(0);
    const narrow_type_facts* const type = has_checked_padding(part) ? find_narrow_type(file.index, part) : nullptr;
    if (type == nullptr || begin + piece.size() != bytes) {
        return {};
    }
    const uint64_t count = count_packed(file.index, object, part, *type, bytes);
    return count % 2 == 0 ? result<void>() : check_packed(part, *type, piece.last(1), 1);
}

/// Decodes the part: its digest, and every rule of its encoding and its type. What is encoded in an unknown way can't
/// be checked. Errors: decode_failed, decode_size, bad_bool, bad_padding, limit_exceeded, cancelled, and what the
/// source says.
ZTENSOR_COLD inline result<digest_state> verify_decoded(const opened_file& file, const object_record& object,
                                                        const component_record& part, progress_meter& meter) {
    const bool has_digest = part.digest_text.is_present();
    const digest_state unchecked = has_digest ? digest_state::unsupported : digest_state::absent;
    if (!part.encoding) {
        return unchecked;
    }
    decoded_stream stream(file, part, digest_use::always);
    ZTENSOR_TRY(stream.start());
    thread_memory memory;
    ZTENSOR_TRY_ASSIGN(const span<byte> room, memory.reserve(stream.best_bytes(), "a piece"));
    result<void> broken_rule;
    for (size_t made = room.size(); made == room.size();) {
        const uint64_t begin = stream.position();
        ZTENSOR_TRY_ASSIGN(made, stream.fill(room));
        if (broken_rule && made != 0) {
            broken_rule = check_type_rules(file, object, part, room.first(made), begin);
        }
        ZTENSOR_TRY(meter.add(made, file.index.text(object.name)));
    }
    if (const result<void> intact = stream.finish(room); !intact) { // which says more than what follows from it
        return damaged_or(intact.error());
    }
    ZTENSOR_TRY(std::move(broken_rule));
    return has_digest && known_digest(file, part).algorithm != digest::none ? digest_state::match : unchecked;
}

/// The rules of a sparse object's indices. Errors: sparse_indptr, sparse_index, sparse_order, and as reading does.
ZTENSOR_COLD inline result<void> verify_indices(const opened_file& file, const object_record& object) {
    const bool is_csr = object.format == format::sparse_csr;
    const component_record& indices = *find_component(file.index, object, is_csr ? "indices" : "coords");
    const component_record* const indptr = is_csr ? find_component(file.index, object, "indptr") : nullptr;
    if (!indices.encoding || (indptr != nullptr && !indptr->encoding)) {
        return {};
    }
    call_budget budget(file.options);
    sparse_parts parts;
    parts.shape = file.index.shape_of(object);
    ZTENSOR_TRY_ASSIGN(parts.indices, load_indices(file, indices, dtype::u64, loading::reads, budget));
    if (is_csr) {
        ZTENSOR_TRY_ASSIGN(parts.indptr, load_indices(file, *indptr, dtype::u64, loading::reads, budget));
    }
    const uint64_t count = parts.indices.bytes.size() / sizeof(uint64_t);
    return check_indices_of(file, parts, *object.format, is_csr ? count : count / parts.shape.rank(), dtype::u64,
                            false);
}

/// All shards and all parts, on as many threads as for_each_in_parallel makes of `threads`. Errors: shard_mismatch,
/// cancelled, and what the source says of shards.
ZTENSOR_COLD inline result<verified_parts> verify_all_decoded(const opened_file& file, unsigned threads,
                                                              progress_meter& meter) {
    ZTENSOR_TRY(verify_shards(file, meter));
    const manifest& index = file.index;
    vector<result<digest_state>> found(index.components.address_end(), digest_state::absent);
    vector<result<void>> rules(index.objects.size());
    read_ahead stored(threads);
    for (const object_record& object : index.objects) {
        announce_object(stored, file, object);
    }
    stored.begin();
    for_each_in_parallel(index.objects.size(), threads, [&](size_t i) {
        const object_record& object = index.objects[i];
        for (size_t k = 0; k < object.component_count && meter.check(); ++k) {
            const size_t at = object.first_component + k;
            found[at] = guard_memory([&] { return verify_decoded(file, object, index.components[at], meter); });
        }
        if (is_sparse(object) && meter.check()) {
            rules[i] = guard_memory([&] { return verify_indices(file, object); });
        }
    });
    ZTENSOR_TRY(meter.check());
    verified_parts all;
    all.states.reserve(index.components.size());
    for (size_t i = 0; i < index.objects.size(); ++i) {
        const object_record& object = index.objects[i];
        bool is_damaged = false;
        for (size_t k = 0; k < object.component_count; ++k) {
            const size_t at = object.first_component + k;
            all.states.push_back(found[at] ? *found[at] : digest_state::absent);
            if (found[at]) {
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

// -- hashing
//
// Ranges of a source -> their digests, on several threads: each takes the next CRC-32C, or the next few SHA-256.

/// A range inside a source, and what came of hashing it.
struct hash_task {
    uint64_t offset = 0;
    uint64_t length = 0;
    string_view object; ///< the name of the one that it belongs to
    digest algorithm = digest::none;
    uint32_t crc = crc32c_start;   ///< of CRC-32C, CRC-32: where to go on from, then the sum
    bool goes_on = false;          ///< it begins where the task before it ends, as one range was cut
    std::array<byte, 32> sha256{}; ///< of SHA-256: the digest
    result<void> outcome;
};

/// What a thread reads into, of a source whose bytes do not stay where they lie: so much that calls cost nothing, so
/// little that it stays in the processor's cache.
inline constexpr size_t hash_buffer_bytes = size_t{1} << 18;
inline constexpr size_t most_hash_streams = 8;
/// Of each stream, of what lies in memory, so that it is told how far it is.
inline constexpr size_t most_blocks_at_once = (size_t{1} << 20) / sha256_block_bytes;

/// Hashes all tasks, of which several threads take turns.
class blob_hasher {
public:
    blob_hasher(const byte_source& source, span<hash_task> tasks, const cpu_features& cpu,
                progress_meter& meter) noexcept
        : source_(source), tasks_(tasks), cpu_(cpu), meter_(meter) {}

    /// `threads` as for_each_in_parallel takes it. Of what is cancelled nothing is known.
    void run(unsigned threads) {
        const size_t wanted = threads != 0 ? threads : processor_count();
        const size_t workers = (std::min<size_t>)(wanted, tasks_.size());
        const auto is_sha256 = [](const hash_task& task) { return task.algorithm == digest::sha256; };
        const auto messages = static_cast<size_t>(std::count_if(tasks_.begin(), tasks_.end(), is_sha256));
        const size_t share = workers == 0 ? 0 : (messages + workers - 1) / workers;
        stream_count_ = (std::min)({share, sha256_most_lanes(cpu_), most_hash_streams});
        const bool is_far = !tasks_.empty() && source_access::is_far(source_, tasks_[0].offset, tasks_[0].length);
        stream_count_ = is_far ? (std::min)(stream_count_, size_t{1}) : stream_count_; // bytes come in their order
        read_ahead sums(threads); // which are hashed before the messages
        read_ahead longer(threads);
        for (const hash_task& task : tasks_) {
            (is_sha256(task) ? longer : sums).add(source_, task.offset, task.length);
        }
        sums.begin();
        longer.begin();
        for_each_in_parallel(workers, threads, [this](size_t) { work(); });
    }

private:
    /// A message of several that are hashed at once.
    struct stream {
        hash_task* task = nullptr; ///< none: all are taken
        uint64_t read_bytes = 0;
        bytes_view part; ///< of what was read: not hashed yet
        digest_memory memory;
        span<byte> buffer; ///< whole blocks
    };

    /// Neighbours in the order of the file, which one call can read.
    struct near_tasks {
        span<hash_task> tasks;
        uint64_t bytes = 0; ///< from where the first begins to where the last of them ends
    };

    void work() {
        byte_buffer buffer;
        if (source_access::is_file(source_) || !source_access::is_mapped(source_)) {
            static_cast<void>(buffer.allocate(hash_buffer_bytes)); // where it fails the tasks that need it say so
        }
        for (near_tasks group = take_near(buffer.size()); !group.tasks.empty() && meter_.check();
             group = take_near(buffer.size())) {
            hash_near(group, buffer.writable_bytes());
        }
        if (stream_count_ != 0) {
            hash_sha256(buffer.writable_bytes());
        }
    }

    /// The next task of SHA-256; null where there is none left.
    [[nodiscard]] hash_task* take_sha256() noexcept {
        for (size_t i = next_sha256_++; i < tasks_.size() && meter_.check(); i = next_sha256_++) {
            if (tasks_[i].algorithm == digest::sha256) {
                return &tasks_[i];
            }
        }
        return nullptr;
    }

    /// The next task of a CRC; of CRC-32C with those behind it that one call can read with it into `room_bytes`: of a
    /// file, and with small gaps. Empty where none is left.
    [[nodiscard]] near_tasks take_near(size_t room_bytes) noexcept {
        size_t seen = next_crc_;
        for (;;) {
            size_t first = seen;
            while (first < tasks_.size() && tasks_[first].algorithm != digest::crc32c &&
                   tasks_[first].algorithm != digest::crc32) {
                ++first;
            }
            const near_tasks found = first == tasks_.size() ? near_tasks() : find_near(first, room_bytes);
            if (next_crc_.compare_exchange_weak(seen, first + found.tasks.size())) {
                return found;
            }
        }
    }

    [[nodiscard]] near_tasks find_near(size_t first, size_t room_bytes) const noexcept {
        const uint64_t begin = tasks_[first].offset;
        uint64_t end = begin + tasks_[first].length;
        size_t last = first + 1;
        const bool joins = tasks_[first].algorithm == digest::crc32c && source_access::is_file(source_);
        for (; joins && last < tasks_.size() && tasks_[last].algorithm == digest::crc32c; ++last) {
            const hash_task& next = tasks_[last];
            const uint64_t next_end = (std::max)(end, next.offset + next.length);
            const bool is_near = next.offset >= begin && (next.offset <= end || next.offset - end <= most_gap_bytes);
            if (!is_near || next_end - begin > room_bytes) {
                break;
            }
            end = next_end;
        }
        return {tasks_.subspan(first, last - first), end - begin};
    }

    /// Tasks whose bytes are had at once. Where that fails each says what fails of its own.
    void hash_near(const near_tasks& group, span<byte> buffer) const {
        const uint64_t begin = group.tasks[0].offset;
        if (group.tasks.size() > 1) {
            if (const result<bytes_view> all = load(begin, group.bytes, buffer)) {
                for (hash_task& task : group.tasks) {
                    const auto length = static_cast<size_t>(task.length);
                    const bytes_view part = all->subspan(static_cast<size_t>(task.offset - begin), length);
                    task.crc = crc32c_update(task.crc, part, cpu_);
                    static_cast<void>(meter_.add(length, task.object));
                }
                return;
            }
        }
        for (hash_task& task : group.tasks) {
            if (task.algorithm == digest::crc32c) {
                task.outcome = hash_crc(task, buffer);
            } else if (task.outcome) { // else it is larger than what may be made
                task.outcome = hash_crc32(task, buffer);
            }
        }
    }

    /// The bytes of a range: all of them where they lie in memory, else as many as the buffer holds.
    result<bytes_view> load(uint64_t offset, uint64_t length, span<byte> buffer) const {
        return guard_memory([&]() -> result<bytes_view> {
            const auto stable = source_access::find_stable_range(source_, offset, length);
            if (!stable || *stable) {
                return stable ? result<bytes_view>(**stable) : stable.error();
            }
            if (buffer.empty()) {
                return fail(errc::out_of_memory, "no memory for a piece of {} bytes", {hash_buffer_bytes});
            }
            const uint64_t size = (std::min<uint64_t>)(length, buffer.size());
            const span<byte> part = buffer.first(static_cast<size_t>(size));
            ZTENSOR_TRY(source_.read_at(offset, part));
            return part;
        });
    }

    /// What is made when it is read is made once, not anew for each piece.
    result<void> hash_crc32(hash_task& task, span<byte> buffer) const {
        task.crc = crc32_start;
        byte_buffer whole;
        if (source_access::is_made(source_, task.offset, task.length)) {
            ZTENSOR_TRY_ASSIGN(buffer, allocate(whole, task.length, "a component"));
        }
        return hash_crc(task, buffer);
    }

    result<void> hash_crc(hash_task& task, span<byte> buffer) const {
        const bool is_crc32c = task.algorithm == digest::crc32c;
        for (uint64_t done = 0; done < task.length;) {
            ZTENSOR_TRY_ASSIGN(const bytes_view part, load(task.offset + done, task.length - done, buffer));
            task.crc = is_crc32c ? crc32c_update(task.crc, part, cpu_) : crc32_update(task.crc, part);
            done += part.size();
            ZTENSOR_TRY(meter_.add(part.size(), task.object));
        }
        return {};
    }

    void hash_sha256(span<byte> buffer) {
        std::array<stream, most_hash_streams> streams;
        const size_t room = buffer.size() / stream_count_ / sha256_block_bytes * sha256_block_bytes;
        for (size_t i = 0; i < stream_count_; ++i) {
            streams[i].buffer = buffer.subspan(i * room, room);
        }
        for (;;) {
            std::array<stream*, most_hash_streams> ready;
            std::array<sha256_lane, most_hash_streams> lanes;
            size_t count = 0;
            size_t blocks = most_blocks_at_once;
            for (size_t i = 0; i < stream_count_; ++i) {
                stream& each = streams[i];
                if (make_ready(each)) {
                    ready[count] = &each;
                    lanes[count++] = {each.memory.words, each.part.data()};
                    blocks = (std::min<size_t>)(blocks, each.part.size() / sha256_block_bytes);
                }
            }
            if (count == 0) {
                return;
            }
            sha256_blocks(span<sha256_lane>(lanes.data(), count), blocks, cpu_);
            for (size_t i = 0; i < count; ++i) {
                ready[i]->part = ready[i]->part.subspan(blocks * sha256_block_bytes);
                ready[i]->memory.length_bytes += blocks * sha256_block_bytes;
            }
            if (!meter_.add(count * blocks * sha256_block_bytes, ready[0]->task->object)) {
                return;
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
            each = start(take_sha256(), each.buffer);
            if (each.task == nullptr) {
                return false;
            }
        }
        return true;
    }

    [[nodiscard]] static stream start(hash_task* task, span<byte> buffer) noexcept {
        stream fresh;
        fresh.task = task;
        fresh.buffer = buffer;
        std::copy_n(sha256_start, 8, fresh.memory.words);
        return fresh;
    }

    const byte_source& source_;
    span<hash_task> tasks_;
    const cpu_features& cpu_;
    progress_meter& meter_;
    size_t stream_count_ = 0; ///< SHA-256 that a thread hashes at once
    std::atomic<size_t> next_crc_{0};
    std::atomic<size_t> next_sha256_{0};
};

// -- verify
//
// Checking every digest of a file. Blobs are read in the order of the file, those with several names once; large ones
// are cut where their digest allows it, so that several threads can share one. SPEC.md section 7.

/// The pieces that a blob's CRC-32C is computed in: of 8 MiB, or of more where they would be very many.
[[nodiscard]] constexpr uint64_t crc32c_piece_bytes(uint64_t blob_bytes) noexcept {
    constexpr uint64_t least_bytes = uint64_t{8} << 20;
    constexpr uint64_t most_pieces = 4096;
    const uint64_t bytes = blob_bytes / most_pieces + 1;
    return bytes < least_bytes ? least_bytes : bytes;
}

/// The digests of components, all computed at once.
class digest_checks {
public:
    explicit digest_checks(const opened_file& file) : file_(file) {}

    void add(const component_record& component, string_view object) {
        const bool has_digest = component.digest_text.is_present();
        const digest algorithm = has_digest ? known_digest(file_, component).algorithm : digest::none;
        checks_.push_back({&component, object, algorithm, 0, cover_of(file_, component)});
    }

    /// Of all that were added, on as many threads as for_each_in_parallel makes of `threads`.
    void run(unsigned threads, progress_meter& meter) {
        vector<uint32_t> positions;
        for (uint32_t i = 0; i < checks_.size(); ++i) {
            if (checks_[i].algorithm != digest::none) {
                positions.push_back(i);
            }
        }
        const auto is_before = [this](uint32_t a, uint32_t b) { return checks_[a].is_before(checks_[b]); };
        if (!std::is_sorted(positions.begin(), positions.end(), is_before)) {
            sort_positions(span<uint32_t>(positions), is_before);
        }
        tasks_.reserve(positions.size());
        const check* last = nullptr;
        for (const uint32_t position : positions) {
            check& each = checks_[position];
            if (last != nullptr && !last->is_before(each)) { // another name of the same bytes
                each.first_task = last->first_task;
                static_cast<void>(meter.add(each.cover.length, each.object));
            } else {
                add_tasks(each);
            }
            last = &each;
        }
        blob_hasher(*file_.source, tasks_, host_cpu(), meter).run(threads);
        join_pieces();
    }

    /// Of the component that was added as number `position`, after run(). Errors: what the source says.
    result<digest_state> state_of(size_t position) const {
        const check& asked = checks_[position];
        if (asked.algorithm == digest::none) {
            return asked.component->digest_text.is_present() ? digest_state::unsupported : digest_state::absent;
        }
        const hash_task& hashed = tasks_[asked.first_task];
        if (!hashed.outcome) {
            return damaged_or(hashed.outcome.error());
        }
        std::array<byte, 4> checksum;
        store_big(~hashed.crc, checksum.data(), checksum.size());
        const bytes_view value = asked.algorithm == digest::sha256 ? bytes_view(hashed.sha256) : bytes_view(checksum);
        const bool matches = are_digits_of(known_digest(file_, *asked.component).digits, value);
        return matches ? digest_state::match : digest_state::mismatch;
    }

private:
    struct check {
        const component_record* component;
        string_view object;
        digest algorithm; ///< none: there is nothing to compute
        uint32_t first_task;
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
        const uint64_t length = each.cover.length;
        const uint64_t most = each.algorithm == digest::crc32c ? crc32c_piece_bytes(length) : length;
        each.first_task = static_cast<uint32_t>(tasks_.size());
        uint64_t done = 0;
        do {
            hash_task task;
            task.offset = each.cover.offset + done;
            task.length = (std::min)(length - done, most);
            task.object = each.object;
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
    vector<check> checks_;
    vector<hash_task> tasks_; ///< in the order of the file, each range once
};

/// Computes the digest of one blob as stored, and compares. Errors: what the source says.
inline result<digest_state> verify_digest(const opened_file& file, const component_record& component) {
    digest_checks only(file);
    progress_meter silent;
    only.add(component, {});
    only.run(1, silent);
    return only.state_of(0);
}

/// All of a file, on as many threads as for_each_in_parallel makes of `threads`. Errors: cancelled, and what the source
/// says.
inline result<verified_parts> verify_stored(const opened_file& file, unsigned threads, progress_meter& meter) {
    const manifest& index = file.index;
    digest_checks checks(file);
    for (const object_record& object : index.objects) {
        for (const component_record& component : index.components_of(object)) {
            checks.add(component, index.text(object.name));
        }
    }
    checks.run(threads, meter);
    ZTENSOR_TRY(meter.check());
    verified_parts all;
    all.states.reserve(index.components.size());
    for (const object_record& object : index.objects) {
        for (const component_record& component : index.components_of(object)) {
            result<digest_state> state = checks.state_of(all.states.size());
            if (!state) {
                return std::move(state)
                    .error()
                    .in_object(index.text(object.name))
                    .in_component(role_name(index, component));
            }
            all.states.push_back(*state);
        }
    }
    return all;
}

/// What verifying the file will add to the meter: the bytes that its digests are of, of version 2 those of all parts as
/// they are decoded, and of shards.
ZTENSOR_COLD inline void expect_verified(const opened_file& file, progress_meter& meter) {
    const bool decodes = file.index.version == version::v2;
    for (const shard_record& shard : file.index.shards) {
        const bool is_hashed = parse_strict_digest(file.index.text(shard.digest_text)).algorithm != digest::none;
        meter.expect(is_hashed ? shard.size_bytes : 0);
    }
    for (const object_record& object : file.index.objects) {
        for (const component_record& part : file.index.components_of(object)) {
            if (decodes) {
                meter.expect(part.encoding ? part.decoded_length().value_or(0) : 0);
            } else if (part.digest_text.is_present() && known_digest(file, part).algorithm != digest::none) {
                meter.expect(cover_of(file, part).length);
            }
        }
    }
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
