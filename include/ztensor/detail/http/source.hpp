// SPDX-License-Identifier: MIT
//
// A file at a URL as a source of bytes: how it is opened, and how requests of the library become pieces.
#ifndef ZTENSOR_DETAIL_HTTP_SOURCE_HPP
#define ZTENSOR_DETAIL_HTTP_SOURCE_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/http/client.hpp>
#include <ztensor/detail/http/messages.hpp>
#include <ztensor/detail/http/transfers.hpp>
#include <ztensor/detail/index/names.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/error.hpp>
#include <ztensor/io.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <memory>
#include <system_error>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// A request of a caller of which pieces are under way.
struct http_open_request {
    read_request given;
    uint64_t next; ///< where the next piece begins
    uint64_t end;
    size_t under_way = 0;
    optional<error> failure;

    [[nodiscard]] byte* place() const noexcept { return given.destination.data() + (next - given.offset); }
    [[nodiscard]] bool is_issued() const noexcept { return failure || next == end; }
};

class http_file final : public byte_source {
public:
    http_file(std::shared_ptr<http_client> client, std::shared_ptr<const http_settings> settings, http_url home)
        : transfers_(std::move(client), std::move(settings), std::move(home)) {}

    /// Asks for both ends of the file at once, `suffix_bytes` of its end. Where the server does not know ranges that
    /// count from the end, the end is asked for when the size is known.
    ZTENSOR_COLD result<void> open(size_t suffix_bytes) {
        return in_file(guard_memory([&] { return open_ends(suffix_bytes); }), transfers_.path());
    }

    [[nodiscard]] uint64_t size() const noexcept override { return size_; }

    result<void> read_at(uint64_t offset, span<byte> destination) const override {
        struct one_request final : read_requests {
            one_request(uint64_t from, span<byte> to) noexcept : request{from, to} {}
            [[nodiscard]] optional<read_request> next() override {
                return std::exchange(is_given, true) ? std::nullopt : optional<read_request>(request);
            }
            void complete(const read_request& /*request*/, result<void> result) override {
                outcome = std::move(result);
            }

            read_request request;
            bool is_given = false;
            result<void> outcome;
        };
        return guard_memory([&] {
            one_request only(offset, destination);
            read_many(only);
            return std::move(only.outcome);
        });
    }

    void read_many(read_requests& requests) const override { reading(*this, requests).run(); }

    [[nodiscard]] read_preferences preferences() const noexcept override {
        read_preferences wanted;
        wanted.request_bytes = settings().request_bytes;
        wanted.gap_bytes = settings().gap_bytes;
        wanted.requests_in_flight = settings().requests_in_flight;
        wanted.requests_per_call = settings().requests_in_flight;
        wanted.joins_requests = true;
        return wanted;
    }

    ZTENSOR_COLD result<std::shared_ptr<const byte_source>> open_shard(string_view name,
                                                                       string_view digest) const override {
        return guard_memory([&] { return find_shard(name, digest); });
    }

    ZTENSOR_COLD result<std::shared_ptr<const byte_source>> open_beside(string_view path) const override {
        return guard_memory([&] { return find_beside(percent_encoded(path, true), settings().suffix_bytes); });
    }

private:
    static constexpr size_t head_bytes = size_t{4} << 10;
    static constexpr size_t shard_suffix_bytes = size_t{4} << 10; ///< holds the footer, which is all that is looked at

    [[nodiscard]] const http_settings& settings() const noexcept { return *transfers_.settings(); }

    // -- opening

    result<void> open_ends(size_t suffix_bytes) {
        head_.resize(head_bytes);
        tail_.resize(suffix_bytes);
        std::unique_ptr<http_piece> ends[] = {std::make_unique<http_piece>(), std::make_unique<http_piece>()};
        http_piece& head = *ends[0];
        http_piece& tail = *ends[1];
        head.end = head_bytes;
        head.may_be_short = true;
        head.to.add(head_.data(), head_bytes);
        tail.end = suffix_bytes;
        tail.is_suffix = true;
        tail.to.add(tail_.data(), suffix_bytes);
        const span<const std::unique_ptr<http_piece>> both(ends, 2);
        {
            http_call call(*transfers_.client());
            ZTENSOR_TRY(transfers_.start(head, call));
            if (suffix_bytes != 0) {
                ZTENSOR_TRY(transfers_.start(tail, call));
            }
            ZTENSOR_TRY(run(both, call));
        }
        size_ = head.total.value_or(0);
        head_.resize(smaller_size(size_, head_bytes));
        tail_begin_ = size_;
        transfers_.note_opened();
        if (suffix_bytes == 0 || size_ == 0) {
            tail_.clear();
        } else if (tail.is_refused) {
            ZTENSOR_TRY(read_end(head, tail, suffix_bytes, both));
        } else if (tail.total != size_) {
            return fail(errc::file_changed, "the file has become {} bytes large while it was opened; it had {}",
                        {tail.total.value_or(0), size_});
        } else if (!tail.tag.empty() && !head.tag.empty() && opaque_tag(tail.tag) != opaque_tag(head.tag)) {
            return fail(errc::file_changed, "the file has changed while it was opened: it has another ETag");
        }
        const http_piece& tagged = head.tag.empty() ? tail : head;
        tag_ = tagged.tag;
        tag_host_ = tagged.tag_host;
        tail_.resize(smaller_size(size_, tail_.size()));
        tail_begin_ = size_ - tail_.size();
        return {};
    }

    /// The end by the range that it has, now that the size is known.
    result<void> read_end(const http_piece& head, http_piece& tail, size_t suffix_bytes,
                          span<const std::unique_ptr<http_piece>> both) {
        const uint64_t count = smaller_size(size_, suffix_bytes);
        tail.reset();
        tail.begin = size_ - count;
        tail.end = size_;
        tail.to.add(tail_.data(), count);
        tail.total = size_;
        tail.tag = head.tag;
        tail.tag_host = head.tag_host;
        http_call call(*transfers_.client());
        ZTENSOR_TRY(transfers_.start(tail, call));
        return run(both, call);
    }

    /// Until all are done or one has failed.
    result<void> run(span<const std::unique_ptr<http_piece>> pieces, http_call& call) const {
        while (call.under_way() != 0) {
            http_piece* const piece = call.wait(pieces);
            if (piece == nullptr) {
                return reading_was_stopped();
            }
            const http_step step = transfers_.advance(*piece, call);
            if (step == http_step::failed && !(piece->is_suffix && piece->is_refused)) {
                return *std::move(piece->failure);
            }
        }
        return {};
    }

    // -- requests

    /// One call of read_many(). A request of the caller's that is large is read in several pieces, and small ones that
    /// follow each other are read in one.
    class reading {
    public:
        reading(const http_file& file, read_requests& requests)
            : file_(file), requests_(requests), call_(*file.transfers_.client()) {}

        void run() {
            while (!is_stopped_) {
                while (call_.under_way() < file_.settings().requests_in_flight && issue_next()) {
                }
                if (call_.under_way() == 0) {
                    return;
                }
                take_one();
            }
        }

    private:
        /// Begins one more piece. False if nothing is wanted.
        bool issue_next() {
            while (may_join_more()) {
                const optional<read_request> given = requests_.next();
                if (!given) {
                    break;
                }
                const result<bool> is_whole = guard_memory([&] { return begin(*given); });
                if (!is_whole || *is_whole) {
                    requests_.complete(*given, is_whole ? result<void>() : in_file(is_whole.error()));
                }
            }
            if (waiting_.empty()) {
                return false;
            }
            if (result<void> issued = guard_memory([&] { return issue(); }); !issued) {
                fail_request(*waiting_.front(), issued.error());
            }
            return true;
        }

        /// The next piece has room for more requests, if they follow those that are waiting.
        [[nodiscard]] bool may_join_more() const noexcept {
            return waiting_.empty() ||
                   (waiting_.back()->end - waiting_.front()->next < file_.settings().request_bytes &&
                    std::adjacent_find(waiting_.begin(), waiting_.end(), [&](const auto* one, const auto* next) {
                        return !follows(one->end, *next);
                    }) == waiting_.end());
        }
        [[nodiscard]] bool follows(uint64_t end, const http_open_request& next) const noexcept {
            return next.next >= end && next.next - end <= file_.settings().gap_bytes;
        }

        /// Copies what is remembered of both ends, and makes an open request of the rest, if there is any. True if
        /// there is none. Errors: out_of_bounds.
        result<bool> begin(const read_request& given) {
            uint64_t begin = given.offset, end = begin + given.destination.size();
            ZTENSOR_TRY(check_range(begin, given.destination.size(), file_.size_));
            byte* const to = given.destination.data();
            const vector<byte>& head = file_.head_;
            if (begin < head.size() && begin < end) {
                const size_t count = smaller_size(head.size() - begin, end - begin);
                std::copy_n(head.data() + begin, count, to);
                begin += count;
            }
            if (end > file_.tail_begin_ && begin < end) {
                const uint64_t from = (std::max)(begin, file_.tail_begin_);
                std::copy_n(file_.tail_.data() + (from - file_.tail_begin_), static_cast<size_t>(end - from),
                            to + (from - given.offset));
                end = from;
            }
            if (begin < end) {
                auto made = std::make_unique<http_open_request>();
                made->given = given;
                made->next = begin;
                made->end = end;
                waiting_.reserve(waiting_.size() + 1);
                open_.push_back(std::move(made));
                waiting_.push_back(open_.back().get());
            }
            return begin == end;
        }

        /// Begins the next piece of the first request that waits, and of those that follow it.
        result<void> issue() {
            const http_settings& settings = file_.settings();
            http_piece& piece = free_piece();
            http_open_request& first = *waiting_.front();
            piece.begin = first.next;
            piece.end = first.next + smaller_size(first.end - first.next, settings.request_bytes);
            piece.to.add(first.place(), piece.end - piece.begin);
            vector<http_open_request*> of = {&first};
            for (size_t i = 1; i < waiting_.size() && piece.end == waiting_[i - 1]->end; ++i) {
                http_open_request& next = *waiting_[i];
                if (!follows(piece.end, next) || next.end - piece.begin > settings.request_bytes) {
                    break;
                }
                piece.to.add(nullptr, next.next - piece.end);
                piece.to.add(next.place(), next.end - next.next);
                piece.end = next.end;
                of.push_back(&next);
            }
            piece.total = file_.size_;
            piece.tag = file_.tag_;
            piece.tag_host = file_.tag_host_;
            ZTENSOR_TRY(file_.transfers_.start(piece, call_));
            piece.of = std::move(of);
            for (http_open_request* const each : piece.of) {
                ++each->under_way;
                each->next = (std::min)(each->end, piece.end);
            }
            waiting_.erase(waiting_.begin(), std::find_if(waiting_.begin(), waiting_.end(),
                                                          [](const auto* each) { return !each->is_issued(); }));
            return {};
        }

        [[nodiscard]] http_piece& free_piece() {
            auto place =
                std::find_if(pieces_.begin(), pieces_.end(), [](const auto& each) { return each->of.empty(); });
            if (place == pieces_.end()) {
                pieces_.push_back(std::make_unique<http_piece>());
                place = pieces_.end() - 1;
            }
            (*place)->reset();
            return **place;
        }

        void take_one() {
            http_piece* const ended = call_.wait(pieces_, &requests_);
            if (ended == nullptr) {
                return stop();
            }
            http_piece& piece = *ended;
            const result<http_step> step =
                guard_memory([&]() -> result<http_step> { return file_.transfers_.advance(piece, call_); });
            if (step && *step == http_step::goes_on) {
                return;
            }
            const vector<http_open_request*> of = std::exchange(piece.of, {});
            for (http_open_request* const each : of) {
                --each->under_way;
                if (!step || *step == http_step::failed) {
                    fail_request(*each, step ? *piece.failure : step.error());
                } else {
                    complete_if_done(*each);
                }
            }
        }

        /// Nobody waits for what is under way.
        void stop() {
            call_.end();
            waiting_.clear();
            const vector<std::unique_ptr<http_open_request>> left = std::exchange(open_, {});
            for (const std::unique_ptr<http_open_request>& each : left) {
                requests_.complete(each->given, in_file(each->failure ? *each->failure : reading_was_stopped()));
            }
            is_stopped_ = true;
        }

        /// Ends what else of it is under way.
        void fail_request(http_open_request& request, const error& why) {
            if (!request.failure) {
                request.failure = why;
                waiting_.erase(std::remove(waiting_.begin(), waiting_.end(), &request), waiting_.end());
                call_.cancel([&](const http_attempt& attempt) {
                    return std::any_of(pieces_.begin(), pieces_.end(), [&](const std::unique_ptr<http_piece>& each) {
                        return &each->attempt == &attempt &&
                               std::find(each->of.begin(), each->of.end(), &request) != each->of.end();
                    });
                });
            }
            complete_if_done(request);
        }

        void complete_if_done(http_open_request& request) {
            if (!request.is_issued() || request.under_way != 0) {
                return;
            }
            const auto place =
                std::find_if(open_.begin(), open_.end(), [&](const auto& each) { return each.get() == &request; });
            const std::unique_ptr<http_open_request> ended = std::move(*place);
            open_.erase(place);
            requests_.complete(ended->given, ended->failure ? in_file(*ended->failure) : result<void>());
        }

        [[nodiscard]] error in_file(error why) const { return std::move(why).in_file(file_.transfers_.path()); }

        const http_file& file_;
        read_requests& requests_;
        vector<std::unique_ptr<http_piece>> pieces_; ///< of which those that are free are kept
        vector<std::unique_ptr<http_open_request>> open_;
        vector<http_open_request*> waiting_; ///< of these, those of which bytes are not under way, in order
        bool is_stopped_ = false;
        http_call call_;
    };

    // -- shards

    result<std::shared_ptr<const byte_source>> find_shard(string_view name, string_view digest) const {
        ZTENSOR_TRY(transfers_.client()->check_process());
        const std::shared_ptr<const http_url> home = transfers_.home();
        if (shard_name_problem(name) != nullptr || !std::all_of(digest.begin(), digest.end(), [](char c) {
                return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == ':';
            })) {
            return std::shared_ptr<const byte_source>();
        }
        if (settings().shard_url) {
            ZTENSOR_TRY_ASSIGN(const string text, settings().shard_url(name, digest));
            if (text.empty()) {
                return std::shared_ptr<const byte_source>();
            }
            ZTENSOR_TRY_ASSIGN(http_url url, http_url::parse(text));
            return open_file_at(std::move(url), shard_suffix_bytes);
        }
        string stem = home->path().substr(home->path().rfind('/') + 1);
        constexpr string_view ending = ".zt";
        if (stem.size() > ending.size() &&
            equals_ignoring_case(string_view(stem).substr(stem.size() - ending.size()), ending)) {
            stem.resize(stem.size() - ending.size());
        }
        string blob = "blobs/" + string(digest);
        std::replace(blob.begin(), blob.end(), ':', '/');
        optional<error> refused;
        for (const string& each : {stem + "-" + string(name) + ".zt", blob}) {
            result<std::shared_ptr<const byte_source>> found = find_beside(each, shard_suffix_bytes);
            if (!found && found.error().os_error() == std::errc::permission_denied) {
                refused =
                    std::move(found).error(); // so S3 answers for what is not there to who may not list the bucket
                continue;
            }
            if (!found || *found != nullptr) {
                return found;
            }
        }
        return refused ? result<std::shared_ptr<const byte_source>>(*std::move(refused))
                       : std::shared_ptr<const byte_source>();
    }

    /// With the query of this file's URL only where that was asked for: a signature is of one file.
    result<std::shared_ptr<const byte_source>> find_beside(const string& encoded, size_t suffix_bytes) const {
        ZTENSOR_TRY(transfers_.client()->check_process());
        const std::shared_ptr<const http_url> home = transfers_.home();
        const string& text = home->text();
        const string query = settings().keeps_query ? text.substr((std::min)(text.find('?'), text.size())) : string();
        ZTENSOR_TRY_ASSIGN(http_url url, home->resolve("./" + encoded + query));
        return open_file_at(std::move(url), suffix_bytes);
    }

    /// Null where there is nothing. It shares the connections of this file.
    result<std::shared_ptr<const byte_source>> open_file_at(http_url url, size_t suffix_bytes) const {
        auto found = std::make_shared<http_file>(transfers_.client(), transfers_.settings(), std::move(url));
        result<void> opened = found->open((std::min)(settings().suffix_bytes, suffix_bytes));
        if (!opened && opened.error().code() == errc::file_not_found) {
            return std::shared_ptr<const byte_source>();
        }
        return opened ? result<std::shared_ptr<const byte_source>>(std::move(found)) : std::move(opened).error();
    }

    http_transfers transfers_;

    // What opening finds out.
    uint64_t size_ = 0;
    string tag_;
    string tag_host_;
    vector<byte> head_;
    vector<byte> tail_;
    uint64_t tail_begin_ = 0;
};

/// Errors: those of http_source::open().
ZTENSOR_COLD inline result<std::shared_ptr<const byte_source>> open_http_file(string_view url,
                                                                              const http_settings& settings) {
    return guard_memory([&]() -> result<std::shared_ptr<const byte_source>> {
        ZTENSOR_TRY(begin_http(settings));
        ZTENSOR_TRY_ASSIGN(http_url home, http_url::parse(url));
        auto shared = std::make_shared<const http_settings>(settings);
        auto file = std::make_shared<http_file>(std::make_shared<http_client>(shared), shared, std::move(home));
        ZTENSOR_TRY(file->open(settings.suffix_bytes));
        return std::shared_ptr<const byte_source>(std::move(file));
    });
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
