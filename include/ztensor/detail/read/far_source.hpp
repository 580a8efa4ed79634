// SPDX-License-Identifier: MIT
//
// A source whose requests take time, such as an object store: what is announced of it comes into memory by many
// requests at once, before somebody reads it.
#ifndef ZTENSOR_DETAIL_READ_FAR_SOURCE_HPP
#define ZTENSOR_DETAIL_READ_FAR_SOURCE_HPP

#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/os/tasks.hpp>
#include <ztensor/detail/read/announced_pieces.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/io.hpp>
#include <ztensor/options.hpp>

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

class far_source;

/// A source that hands on what it does not do itself. Where bytes lie in memory, and requests by the dozen, are for
/// those that derive from it.
class forwarding_source : public byte_source {
public:
    [[nodiscard]] uint64_t size() const noexcept override { return from_->size(); }
    [[nodiscard]] read_preferences preferences() const noexcept override { return from_->preferences(); }
    result<void> check_unchanged() const override { return from_->check_unchanged(); }
    void prefetch(uint64_t offset, uint64_t length) const noexcept override { from_->prefetch(offset, length); }
    void evict(uint64_t offset, uint64_t length) const noexcept override { from_->evict(offset, length); }
    result<std::shared_ptr<const byte_source>> open_shard(string_view name, string_view digest) const override {
        return from_->open_shard(name, digest);
    }
    result<std::shared_ptr<const byte_source>> open_beside(string_view path) const override {
        return from_->open_beside(path);
    }

protected:
    explicit forwarding_source(std::shared_ptr<const byte_source> from) noexcept : from_(std::move(from)) {}

    const std::shared_ptr<const byte_source> from_;

private:
    [[nodiscard]] const file* as_file() const noexcept final { return source_access::file_of(*from_); }
    [[nodiscard]] bool identify(uint64_t& device, uint64_t& file_id) const noexcept final {
        return source_access::identify(*from_, device, file_id);
    }
};

/// Ranges of one far source that are about to be read, about in ascending order. While it lives threads of the executor
/// fetch them, in requests of the size that the source likes. A reader that comes before its bytes are asked for asks
/// for them itself, so that none waits for a thread that has not started.
class announcement {
public:
    /// Holds at most `most_bytes` in memory of its own, and one piece in any case.
    announcement(const far_source& source, uint64_t most_bytes) noexcept;
    announcement(const announcement&) = delete;
    announcement& operator=(const announcement&) = delete;
    /// Drops what was not asked for, and waits for what was.
    ~announcement();

    [[nodiscard]] const far_source& source() const noexcept { return source_; }

    /// As those of announced_pieces, before begin().
    void add(uint64_t offset, uint64_t length) { pieces_.add(offset, length); }
    void add(uint64_t offset, span<byte> destination) { pieces_.add(offset, destination); }

    [[nodiscard]] uint64_t count_requests() const noexcept { return pieces_.count_requests(); }

    /// Once, after the last add(). `share` is how many announcements have the memory and the requests together; once
    /// somebody reads what this one brings, `next` is fetched, too, which lives longer.
    void begin(size_t share = 1, announcement* next = nullptr);
    /// Asks for threads that fetch, as many as are useful. Until then what is read is fetched by its readers.
    void spawn() noexcept;

    /// Reads what was added for exactly this memory, after begin().
    result<void> read_placed(uint64_t offset, span<byte> destination);

private:
    friend class far_source;
    class call;
    class read_here;
    [[nodiscard]] bool is_ours() const noexcept;

    using progress = announced_piece::progress;

    [[nodiscard]] announced_piece* next_queued() noexcept { return is_cancelled_ ? nullptr : pieces_.next_queued(); }
    [[nodiscard]] bool start(announced_piece& piece) noexcept;
    void finish(announced_piece& piece, result<void> outcome) noexcept;
    void abandon(announced_piece& piece, const std::exception_ptr& thrown) noexcept;
    result<size_t> take(announced_piece& piece, uint64_t offset, span<byte> destination);
    [[nodiscard]] size_t useful_calls() noexcept;
    void fetch() noexcept;

    const far_source& source_;
    announced_pieces pieces_;
    size_t under_way_ = 0; ///< pieces
    size_t readers_ = 0;
    size_t calls_ = 0; ///< of read_many(), asked for or under way, but for those that found nothing more to ask for
    bool has_begun_ = false;
    bool is_cancelled_ = false;
    bool is_abandoned_ = false; ///< nobody wants what is under way
    announcement* next_ = nullptr; ///< to be fetched once this one is read
    os_mutex spawning_;
    task_group group_{[](void* self) { static_cast<announcement*>(self)->fetch(); }, this};
};

/// A source of the caller's whose requests take time. What was announced is read from where it arrived, and all else by
/// requests of its own.
class far_source final : public forwarding_source {
public:
    explicit far_source(std::shared_ptr<const byte_source> from) noexcept
        : forwarding_source(std::move(from)), size_(from_->size()), preferences_(from_->preferences()) {
        preferences_.request_bytes = (std::max)(preferences_.request_bytes, size_t{1});
        preferences_.requests_per_call =
            (std::min)((std::max)(preferences_.requests_per_call, 1u), preferences_.requests_in_flight);
    }

    [[nodiscard]] uint64_t size() const noexcept override { return size_; }

    ZTENSOR_COLD result<void> read_at(uint64_t offset, span<byte> destination) const override {
        if (process_ != process_id()) { // a forked child, in which nothing arrives
            return from_->read_at(offset, destination);
        }
        if (ends_.holds(offset, destination.size(), size())) {
            return read_ends(offset, destination);
        }
        while (!destination.empty()) {
            uint64_t ahead = destination.size();
            ZTENSOR_TRY_ASSIGN(size_t done, read_announced(offset, destination, ahead));
            if (done == 0) {
                done = static_cast<size_t>(ahead);
                ZTENSOR_TRY(read_unannounced(offset, destination.first(done)));
            }
            offset += done;
            destination = destination.subspan(done);
        }
        return {};
    }

    /// The byte at `offset` is on its way, or about to be asked for.
    [[nodiscard]] bool is_announced(uint64_t offset) const noexcept;

    void read_many(read_requests& requests) const override { from_->read_many(requests); }
    [[nodiscard]] read_preferences preferences() const noexcept override { return preferences_; }

private:
    friend class announcement;

    /// Null in a forked child, whose copy of the mutex may be locked: nothing is announced there.
    [[nodiscard]] const far_source* far_at(uint64_t& /*offset*/, uint64_t /*length*/) const noexcept override {
        return process_ == process_id() ? this : nullptr;
    }
    [[nodiscard]] bool reads_files() const noexcept override { return false; } // not where its bytes are asked for

    /// Ends a child process that was forked off inside a request, whose copy of the mutex may be locked.
    void end_if_forked() const noexcept {
        if (process_ != process_id()) {
            end_forked_call();
        }
    }

    result<size_t> read_announced(uint64_t offset, span<byte> destination, uint64_t& ahead) const;
    result<void> read_unannounced(uint64_t offset, span<byte> destination) const;
    result<void> read_ends(uint64_t offset, span<byte> destination) const;

    /// The first and the last bytes of the source: opening a file looks at both, and some of them twice.
    struct both_ends {
        static constexpr size_t most_bytes = 64; ///< of each
        byte head[most_bytes];
        byte tail[most_bytes];
        bool are_read = false;

        [[nodiscard]] static bool holds(uint64_t offset, uint64_t length, uint64_t source_bytes) noexcept {
            return source_bytes >= most_bytes && length <= most_bytes && fits(offset, length, source_bytes) &&
                   (offset <= most_bytes - length || offset >= source_bytes - most_bytes);
        }
    };

    uint64_t size_;
    read_preferences preferences_;
    const uint64_t process_ = process_id();
    mutable os_mutex mutex_;       ///< of what follows, and of what announcements hold once they have begun
    mutable os_condition changed_; ///< a piece has arrived or failed, or a reader is done
    mutable vector<announcement*> announced_;
    mutable os_mutex ends_mutex_;
    mutable both_ends ends_;
};

// -- calls of the source

/// What one call of the source's read_many() reads.
class announcement::call final : public read_requests {
public:
    explicit call(announcement& of) noexcept : of_(of) {}

    /// Afterwards: whether another call is worth while, which then counts in the place of this one. What the source
    /// left incomplete its readers ask for themselves, unless it threw.
    [[nodiscard]] bool end(const std::exception_ptr& thrown) noexcept {
        const os_lock lock(of_.source_.mutex_);
        for (announced_piece* const left : mine_) {
            of_.abandon(*left, thrown);
        }
        of_.is_cancelled_ = of_.is_cancelled_ || !asked_; // and would not ask the next time
        const bool goes_on = took_any_ && of_.next_queued() != nullptr;
        count(goes_on);
        return goes_on;
    }

    optional<read_request> next() override {
        of_.source_.end_if_forked();
        const os_lock lock(of_.source_.mutex_);
        asked_ = true;
        announced_piece* const piece = of_.next_queued();
        count(piece != nullptr);
        if (piece == nullptr) {
            return std::nullopt;
        }
        mine_.push_back(piece);
        if (!of_.start(*piece)) {
            mine_.pop_back();
            return std::nullopt;
        }
        took_any_ = true;
        return read_request{piece->begin, piece->place};
    }

    void complete(const read_request& request, result<void> outcome) override {
        of_.source_.end_if_forked();
        const os_lock lock(of_.source_.mutex_);
        const auto place = std::find_if(mine_.begin(), mine_.end(), [&](const announced_piece* each) {
            return each->place.data() == request.destination.data();
        });
        if (place != mine_.end()) {
            of_.finish(**place, std::move(outcome));
            mine_.erase(place);
        }
    }

    [[nodiscard]] bool is_cancelled() const noexcept override {
        of_.source_.end_if_forked();
        const os_lock lock(of_.source_.mutex_);
        return of_.is_abandoned_;
    }

private:
    /// A call that waits for what it has under way does not ask for what can be begun meanwhile: others may.
    void count(bool asks) noexcept {
        of_.calls_ -= counts_ ? 1 : 0;
        of_.calls_ += asks ? 1 : 0;
        counts_ = asks;
    }

    announcement& of_;
    vector<announced_piece*> mine_; ///< under way
    bool counts_ = true;            ///< among calls_
    bool asked_ = false;
    bool took_any_ = false;
};

/// The reader of a piece fetches it itself. Called with the mutex held, which is released meanwhile.
class announcement::read_here {
public:
    read_here(announcement& of, announced_piece& piece) noexcept : of_(of), piece_(piece) {
        of_.source_.mutex_.unlock();
    }
    read_here(const read_here&) = delete;
    read_here& operator=(const read_here&) = delete;
    ~read_here() {
        of_.source_.end_if_forked();
        of_.source_.mutex_.lock();
        if (outcome_) {
            of_.finish(piece_, *std::move(outcome_));
        } else {
            of_.abandon(piece_, {}); // and this reader meets what the source throws
        }
    }
    void operator()() { outcome_.emplace(of_.source_.from_->read_at(piece_.begin, piece_.place)); }

private:
    announcement& of_;
    announced_piece& piece_;
    optional<result<void>> outcome_; ///< none if the source throws
};

// -- announcement

inline announcement::announcement(const far_source& source, uint64_t most_bytes) noexcept
    : source_(source), pieces_(source.preferences_, most_bytes) {
}

/// False in a process that was forked off from the one that made the source.
inline bool announcement::is_ours() const noexcept {
    return source_.process_ == process_id();
}

/// The group is not looked at before the last reader has left: each may ask it for threads.
ZTENSOR_COLD inline announcement::~announcement() {
    if (!has_begun_ || !is_ours()) {
        return;
    }
    {
        const os_lock lock(source_.mutex_);
        is_cancelled_ = is_abandoned_ = true;
        vector<announcement*>& all = source_.announced_;
        all.erase(std::find(all.begin(), all.end(), this));
        source_.changed_.notify_all();
        while (readers_ != 0) {
            source_.changed_.wait(source_.mutex_);
        }
    }
    group_.join();
}

ZTENSOR_COLD inline void announcement::begin(size_t share, announcement* next) {
    const os_lock lock(source_.mutex_);
    pieces_.cut(share);
    next_ = next;
    source_.announced_.push_back(this);
    has_begun_ = true;
}

/// Gives the piece to the source, or fails it if there is no memory.
inline bool announcement::start(announced_piece& piece) noexcept {
    ++under_way_;
    if (!pieces_.make_room(piece)) {
        finish(piece, fail(errc::out_of_memory, "no memory for a piece of {} bytes", {piece.size()}).at(piece.begin));
        return false;
    }
    piece.state = progress::under_way;
    return true;
}

/// What failed is told to its reader, and nothing more is fetched: the reader asks for what it goes on to itself.
inline void announcement::finish(announced_piece& piece, result<void> outcome) noexcept {
    --under_way_;
    piece.state = outcome ? progress::arrived : progress::failed;
    is_cancelled_ = is_cancelled_ || !outcome;
    piece.outcome = std::move(outcome);
    source_.changed_.notify_all();
}

/// The source did not say what became of the piece: its reader asks again, or meets what the source threw.
inline void announcement::abandon(announced_piece& piece, const std::exception_ptr& thrown) noexcept {
    --under_way_;
    piece.state = thrown ? progress::failed : progress::queued;
    piece.thrown = thrown;
    is_cancelled_ = true;
    source_.changed_.notify_all();
}

/// Reads the bytes at `offset`, as many as the piece has and `destination` takes, when they have arrived; 0 if others
/// have read them all. Called with the mutex held, which is released while it waits or copies.
ZTENSOR_COLD inline result<size_t> announcement::take(announced_piece& piece, uint64_t offset, span<byte> destination) {
    if (announcement* const next = std::exchange(next_, nullptr)) {
        source_.mutex_.unlock();
        next->spawn();
        source_.mutex_.lock();
    }
    while (!is_abandoned_ && (piece.is_queued() || piece.state == progress::under_way)) {
        if (!piece.is_queued()) {
            if (!wait_watched(source_.changed_, source_.mutex_)) {
                return fail(errc::cancelled, "reading was stopped");
            }
            continue;
        }
        if (piece.place.empty()) {
            pieces_.drop_before(piece);
        }
        if (piece.place.empty() && !pieces_.has_room(piece)) {
            return size_t{0}; // of what others hold
        }
        if (start(piece)) {
            read_here(*this, piece)();
        }
    }
    if (is_abandoned_ && piece.state != progress::arrived) {
        return size_t{0}; // which this reader, of another call, asks for itself
    }
    const size_t size = smaller_size(piece.end - offset, destination.size());
    if (piece.state == progress::failed) {
        piece.state = progress::spent;
        first_exception::rethrow(piece.thrown);
        return std::move(piece.outcome).error();
    }
    if (piece.state == progress::spent) {
        return size_t{0};
    }
    if (piece.memory.size() == 0) { // it is there
        return size;
    }
    ++piece.readers;
    source_.mutex_.unlock();
    std::memcpy(destination.data(), piece.place.data() + (offset - piece.begin), size);
    source_.mutex_.lock();
    --piece.readers;
    pieces_.release(piece, size);
    source_.mutex_.unlock();
    spawn(); // for what now has memory
    source_.mutex_.lock();
    return size;
}

ZTENSOR_COLD inline result<void> announcement::read_placed(uint64_t offset, span<byte> destination) {
    const os_lock lock(source_.mutex_);
    while (!destination.empty()) {
        announced_piece* const piece = pieces_.find_placed(offset, destination);
        ZTENSOR_TRY_ASSIGN(const size_t done, take(*piece, offset, destination)); // all of it, or its error
        offset += done;
        destination = destination.subspan(done);
    }
    return {};
}

/// How many calls of read_many() there should be for what can be asked for at present, within what limit_pool() allows.
inline size_t announcement::useful_calls() noexcept {
    const size_t startable = is_cancelled_ ? 0 : pieces_.count_startable();
    const read_preferences& best = pieces_.best();
    const size_t at_once = (std::min)(under_way_ + startable, size_t{best.requests_in_flight});
    const size_t calls = startable == 0 ? 0 : (at_once + best.requests_per_call - 1) / best.requests_per_call;
    return threads_for(static_cast<unsigned>(calls) + 1) - 1; // the caller is one
}

ZTENSOR_COLD inline void announcement::spawn() noexcept {
    const os_lock turn(spawning_);
    for (;;) {
        {
            const os_lock lock(source_.mutex_);
            if (calls_ >= useful_calls()) {
                return;
            }
            ++calls_;
        }
        if (!group_.spawn()) {
            const os_lock lock(source_.mutex_);
            --calls_;
            return;
        }
    }
}

/// What a thread of the executor does.
ZTENSOR_COLD inline void announcement::fetch() noexcept {
    const at_work here;
    for (bool goes_on = true; goes_on;) {
        call requests(*this);
        first_exception failure;
        auto read = [&] { source_.from_->read_many(requests); };
        failure.guard(read);
        goes_on = requests.end(failure.kept());
    }
}

// -- far source

/// Reads what was announced of the bytes at `offset`, and gives how many. 0 if none were: then `ahead` becomes how many
/// bytes there are before the next that were, if these are fewer.
ZTENSOR_COLD inline result<size_t> far_source::read_announced(uint64_t offset, span<byte> destination,
                                                              uint64_t& ahead) const {
    const os_lock lock(mutex_);
    announcement* of = nullptr;
    announced_piece* piece = nullptr;
    for (announcement* const each : announced_) {
        if (announced_piece* const found = each->pieces_.find_placed(offset, destination)) {
            of = each;
            piece = found;
        }
    }
    for (size_t i = 0; piece == nullptr && i < announced_.size(); ++i) {
        of = announced_[i];
        piece = of->pieces_.find_staged(offset);
        ahead = (std::min)(ahead, of->pieces_.next_begin(offset) - offset);
    }
    if (piece == nullptr) {
        return size_t{0};
    }
    struct reader_mark {
        announcement& of;
        ~reader_mark() {
            --of.readers_;
            of.source_.changed_.notify_all();
        }
    };
    ++of->readers_;
    const reader_mark mark{*of};
    return of->take(*piece, offset, destination);
}

inline bool far_source::is_announced(uint64_t offset) const noexcept {
    const os_lock lock(mutex_);
    return std::any_of(announced_.begin(), announced_.end(),
                       [&](announcement* each) { return each->pieces_.find_staged(offset) != nullptr; });
}

/// What is larger than a request, by many at once.
ZTENSOR_COLD inline result<void> far_source::read_unannounced(uint64_t offset, span<byte> destination) const {
    const size_t most = preferences_.request_bytes;
    if (destination.size() <= most || is_at_work()) {
        return from_->read_at(offset, destination);
    }
    announcement pieces(*this, 0);
    pieces.add(offset, destination);
    pieces.begin();
    pieces.spawn();
    return pieces.read_placed(offset, destination);
}

/// Reads both ends at once, when one of them is first asked for.
ZTENSOR_COLD inline result<void> far_source::read_ends(uint64_t offset, span<byte> destination) const {
    const os_lock lock(ends_mutex_);
    const uint64_t tail_begin = size() - both_ends::most_bytes;
    if (!ends_.are_read) {
        if (is_at_work()) {
            return from_->read_at(offset, destination);
        }
        announcement both(*this, 0);
        both.add(0, span<byte>(ends_.head));
        both.add(tail_begin, span<byte>(ends_.tail));
        both.begin();
        both.spawn();
        ZTENSOR_TRY(both.read_placed(0, span<byte>(ends_.head)));
        ZTENSOR_TRY(both.read_placed(tail_begin, span<byte>(ends_.tail)));
        ends_.are_read = true;
    }
    const byte* const from = offset >= tail_begin ? ends_.tail + (offset - tail_begin) : ends_.head + offset;
    std::copy_n(from, destination.size(), destination.data());
    return {};
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
