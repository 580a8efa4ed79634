// SPDX-License-Identifier: MIT
//
// What calls say of themselves before they read: ranges of any source, of which those of far ones are fetched.
#ifndef ZTENSOR_DETAIL_READ_READ_AHEAD_HPP
#define ZTENSOR_DETAIL_READ_READ_AHEAD_HPP

#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/os/tasks.hpp>
#include <ztensor/detail/read/far_source.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/io.hpp>
#include <ztensor/options.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Requests of the source take time, and nothing of it lies in memory.
[[nodiscard]] inline bool takes_time(const byte_source& source) {
    return source.preferences().requests_in_flight > 1 && source.mapped().empty();
}

/// The same source, or one that reads ahead, if its requests take time and threads may be started.
[[nodiscard]] ZTENSOR_COLD inline std::shared_ptr<const byte_source>
with_read_ahead(std::shared_ptr<const byte_source> source, const read_options& options) {
    const bool is_near = options.threads() == 1 || source_access::is_far(*source, 0, 0) || !takes_time(*source);
    return is_near ? std::move(source) : std::make_shared<far_source>(std::move(source));
}

// -- read ahead

/// Announces ranges of any source about to be read, about in the order of reading: of a far one they are fetched while
/// this lives, and of others nothing is done. Does nothing inside other work, which announces its ranges itself.
class read_ahead {
public:
    /// `threads` as in read_options. Holds at most `most_bytes` in memory.
    explicit read_ahead(unsigned threads, uint64_t most_bytes = ~uint64_t{0}) noexcept
        : most_bytes_(most_bytes), is_wanted_(threads != 1 && !is_at_work()) {}

    /// Announces one range, and begins.
    read_ahead(unsigned threads, const byte_source& source, uint64_t offset, uint64_t length,
               uint64_t most_bytes = ~uint64_t{0})
        : read_ahead(threads, most_bytes) {
        add(source, offset, length);
        begin();
    }

    read_ahead(read_ahead&&) noexcept = default;
    /// In their order, as one may have to do with those behind it.
    ~read_ahead() {
        for (auto& each : all_) {
            each.reset();
        }
    }

    /// To be read once, in pieces of any size. What a call further up has announced already is left to that.
    void add(const byte_source& source, uint64_t offset, uint64_t length) {
        announcement* const to = find(source, offset, length);
        if (to != nullptr && !to->source().is_announced(offset)) {
            to->add(offset, length);
        }
    }
    /// To be read as a whole into exactly this memory. What is much less than a request comes with its neighbours, or a
    /// request for each would wait longer than it reads: by itself where the source joins them, else by a copy.
    void add(const byte_source& source, uint64_t offset, span<byte> destination) {
        announcement* const to = find(source, offset, destination.size());
        if (to == nullptr) {
            return;
        }
        const read_preferences best = to->source().preferences();
        if (!best.joins_requests && destination.size() < best.request_bytes / 2) {
            to->add(offset, destination.size());
        } else {
            to->add(offset, destination);
        }
    }
    /// Called once, after the last add(). Of many sources those of the next few are fetched, each once somebody reads
    /// one before it: few where each has many requests to bring, so that there are many requests for what is read now.
    void begin() {
        const size_t share = (std::min)(all_.size(), count_at_once());
        for (size_t i = 0; i < all_.size(); ++i) {
            all_[i]->begin(share, i + share < all_.size() ? all_[i + share].get() : nullptr);
        }
        for (size_t i = 0; i < share; ++i) {
            all_[i]->spawn();
        }
    }

private:
    [[nodiscard]] size_t count_at_once() const noexcept {
        uint64_t requests = 1;
        unsigned most = 0;
        for (const auto& each : all_) {
            requests += each->count_requests();
            most = (std::max)(most, each->source().preferences().requests_in_flight);
        }
        return static_cast<size_t>((std::max<uint64_t>)(2, most * all_.size() / requests));
    }

    /// Null if the range is not of one far source; else `offset` becomes that in it.
    [[nodiscard]] announcement* find(const byte_source& source, uint64_t& offset, uint64_t length) {
        const far_source* const from = is_wanted_ ? source_access::far_at(source, offset, length) : nullptr;
        if (from == nullptr) {
            return nullptr;
        }
        for (const auto& each : all_) {
            if (&each->source() == from) {
                return each.get();
            }
        }
        all_.push_back(std::make_unique<announcement>(*from, most_bytes_));
        return all_.back().get();
    }

    uint64_t most_bytes_;
    bool is_wanted_;
    vector<std::unique_ptr<announcement>> all_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
