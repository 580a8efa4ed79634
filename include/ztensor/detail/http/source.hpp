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

    void read_many(read_requests& requests) const override {
        vector<std::unique_ptr<http_piece>> pieces; // of which those that are free are kept
        vector<std::unique_ptr<http_open_request>> open;
        http_call call(*transfers_.client());
        const auto settle = [&](http_open_request& request) {
            if (!request.is_issued() || request.under_way != 0) {
                return;
            }
            const auto place =
                std::find_if(open.begin(), open.end(), [&](const auto& each) { return each.get() == &request; });
            const std::unique_ptr<http_open_request> ended = std::move(*place);
            open.erase(place);
            requests.complete(ended->given, ended->failure
                                                ? result<void>(std::move(*ended->failure).in_file(transfers_.path()))
                                                : result<void>());
        };
        for (;;) {
            while (call.under_way() < settings().requests_in_flight) {
                if (open.empty() || open.back()->is_issued()) {
                    const optional<read_request> given = requests.next();
                    if (!given) {
                        break;
                    }
                    if (const result<bool> is_whole = guard_memory([&] { return begin_request(*given, open); });
                        !is_whole || *is_whole) {
                        requests.complete(*given, is_whole ? result<void>()
                                                           : error(is_whole.error()).in_file(transfers_.path()));
                    }
                    continue;
                }
                http_open_request& request = *open.back();
                if (result<void> issued = guard_memory([&] { return issue(request, pieces, call); }); !issued) {
                    request.failure = std::move(issued).error();
                    call.cancel(request, pieces);
                    settle(request);
                }
            }
            if (call.under_way() == 0) {
                return;
            }
            http_piece& piece = call.wait(pieces);
            const result<http_step> step =
                guard_memory([&]() -> result<http_step> { return transfers_.advance(piece, call); });
            if (step && *step == http_step::goes_on) {
                continue;
            }
            http_open_request& request = *std::exchange(piece.of, nullptr);
            --request.under_way;
            if ((!step || *step == http_step::failed) && !request.failure) {
                request.failure = !step ? step.error() : *std::move(piece.failure);
                call.cancel(request, pieces);
            }
            settle(request);
        }
    }

    [[nodiscard]] read_preferences preferences() const noexcept override {
        read_preferences wanted;
        wanted.request_bytes = settings().request_bytes;
        wanted.gap_bytes = settings().gap_bytes;
        wanted.requests_in_flight = settings().requests_in_flight;
        wanted.requests_per_call = settings().requests_in_flight;
        return wanted;
    }

    ZTENSOR_COLD result<std::shared_ptr<const byte_source>> open_shard(string_view name,
                                                                       string_view digest) const override {
        return guard_memory([&] { return find_shard(name, digest); });
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
        head.to = head_.data();
        tail.end = suffix_bytes;
        tail.is_suffix = true;
        tail.to = tail_.data();
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
        tail.to = tail_.data();
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
            http_piece& piece = call.wait(pieces);
            const http_step step = transfers_.advance(piece, call);
            if (step == http_step::failed && !(piece.is_suffix && piece.is_refused)) {
                return *std::move(piece.failure);
            }
        }
        return {};
    }

    // -- requests

    /// Copies what is remembered of both ends, and makes an open request of the rest, if there is any. True if there is
    /// none. Errors: out_of_bounds.
    result<bool> begin_request(const read_request& given, vector<std::unique_ptr<http_open_request>>& open) const {
        uint64_t begin = given.offset, end = begin + given.destination.size();
        ZTENSOR_TRY(check_range(begin, given.destination.size(), size_));
        byte* const to = given.destination.data();
        if (begin < head_.size() && begin < end) {
            const size_t count = smaller_size(head_.size() - begin, end - begin);
            std::copy_n(head_.data() + begin, count, to);
            begin += count;
        }
        if (end > tail_begin_ && begin < end) {
            const uint64_t from = (std::max)(begin, tail_begin_);
            std::copy_n(tail_.data() + (from - tail_begin_), static_cast<size_t>(end - from),
                        to + (from - given.offset));
            end = from;
        }
        if (begin < end) {
            auto made = std::make_unique<http_open_request>();
            made->given = given;
            made->next = begin;
            made->end = end;
            open.push_back(std::move(made));
        }
        return begin == end;
    }

    /// Begins the next piece of a request.
    result<void> issue(http_open_request& request, vector<std::unique_ptr<http_piece>>& pieces, http_call& call) const {
        auto place = std::find_if(pieces.begin(), pieces.end(), [](const auto& each) { return each->of == nullptr; });
        if (place == pieces.end()) {
            pieces.push_back(std::make_unique<http_piece>());
            place = pieces.end() - 1;
        }
        http_piece& piece = **place;
        piece.reset();
        piece.begin = request.next;
        piece.end = request.next + smaller_size(request.end - request.next, settings().request_bytes);
        piece.to = request.given.destination.data() + (request.next - request.given.offset);
        piece.total = size_;
        piece.tag = tag_;
        piece.tag_host = tag_host_;
        ZTENSOR_TRY(transfers_.start(piece, call));
        piece.of = &request;
        ++request.under_way;
        request.next = piece.end;
        return {};
    }

    // -- shards

    result<std::shared_ptr<const byte_source>> find_shard(string_view name, string_view digest) const {
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
            return open_shard_at(std::move(url));
        }
        string stem = home->path().substr(home->path().rfind('/') + 1);
        constexpr string_view ending = ".zt";
        if (stem.size() > ending.size() &&
            equals_ignoring_case(string_view(stem).substr(stem.size() - ending.size()), ending)) {
            stem.resize(stem.size() - ending.size());
        }
        const string& text = home->text();
        const string query = settings().keeps_query ? text.substr((std::min)(text.find('?'), text.size())) : string();
        string blob = "blobs/" + string(digest);
        std::replace(blob.begin(), blob.end(), ':', '/');
        optional<error> refused;
        for (const string& each : {stem + "-" + string(name) + ".zt", blob}) {
            ZTENSOR_TRY_ASSIGN(http_url url, home->resolve("./" + each + query));
            result<std::shared_ptr<const byte_source>> found = open_shard_at(std::move(url));
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

    /// Null where there is nothing. It shares the connections of this file.
    result<std::shared_ptr<const byte_source>> open_shard_at(http_url url) const {
        auto shard = std::make_shared<http_file>(transfers_.client(), transfers_.settings(), std::move(url));
        result<void> opened = shard->open((std::min)(settings().suffix_bytes, shard_suffix_bytes));
        if (!opened && opened.error().code() == errc::file_not_found) {
            return std::shared_ptr<const byte_source>();
        }
        return opened ? result<std::shared_ptr<const byte_source>>(std::move(shard)) : std::move(opened).error();
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
        ZTENSOR_TRY(check_settings(settings));
        if (!set_up_http_library()) {
            return fail(errc::io_error, "libcurl can't be set up");
        }
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
