// SPDX-License-Identifier: MIT
//
// Requests as their callers see them: which are made for a range, what becomes of it while it is read by one attempt
// after the other, what is asked again, who may see credentials, and what is said where one fails.
#ifndef ZTENSOR_DETAIL_HTTP_TRANSFERS_HPP
#define ZTENSOR_DETAIL_HTTP_TRANSFERS_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/http/client.hpp>
#include <ztensor/detail/http/messages.hpp>
#include <ztensor/detail/http/pieces.hpp>
#include <ztensor/detail/http/s3_replies.hpp>
#include <ztensor/detail/http/url.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/error.hpp>
#include <ztensor/io.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <ctime>
#include <iterator>
#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- call

/// The attempts of one call. None is under way after it, whatever ends the call.
class http_call {
public:
    explicit http_call(http_client& client) noexcept : client_(client) {}
    http_call(const http_call&) = delete;
    http_call& operator=(const http_call&) = delete;
    ~http_call() {
        if (client_.is_ours()) { // else the attempts are the parent's
            end();
        }
    }

    /// Ends all that is under way.
    void end() noexcept {
        cancel([](const http_attempt&) { return true; });
        while (inbox_.under_way != 0) {
            static_cast<void>(client_.wait(inbox_));
        }
    }

    [[nodiscard]] size_t under_way() const noexcept { return inbox_.under_way; }
    result<void> submit(http_piece& piece) noexcept { return client_.submit(piece.attempt, inbox_); }
    /// Gives the piece that has news; one of them is under way. Null if no call waits for them any more: the thread's
    /// watch says so, or `wanted`, unless it is null.
    template <class Pieces>
    [[nodiscard]] http_piece* wait(const Pieces& pieces, const read_requests* wanted = nullptr) noexcept {
        const http_attempt* ended = nullptr;
        while (ended == nullptr) {
            if (!goes_on_waiting() || (wanted != nullptr && wanted->is_cancelled())) {
                return nullptr;
            }
            ended = client_.wait(inbox_);
        }
        const auto is_of = [&](const auto& each) { return &each->attempt == ended; };
        return &**std::find_if(pieces.begin(), pieces.end(), is_of);
    }
    /// Ends those soon for which `is_meant(attempt)`; wait() still gives them.
    template <class Condition>
    void cancel(const Condition& is_meant) noexcept {
        if (inbox_.under_way != 0) {
            client_.cancel(inbox_, is_meant);
        }
    }

private:
    http_client& client_;
    http_inbox inbox_;
};

/// Pieces of one file, and where it is: at the URL that was given, or that refresh() gave, or where redirects led.
/// Members may be called from several threads at once.
class http_transfers {
public:
    http_transfers(std::shared_ptr<http_client> client, std::shared_ptr<const http_settings> settings, http_url home)
        : client_(std::move(client)), settings_(std::move(settings)), path_(home.shown()),
          home_(std::make_shared<const http_url>(std::move(home))) {}

    [[nodiscard]] const std::shared_ptr<http_client>& client() const noexcept { return client_; }
    [[nodiscard]] const std::shared_ptr<const http_settings>& settings() const noexcept { return settings_; }
    /// For messages.
    [[nodiscard]] const string& path() const noexcept { return path_; }
    [[nodiscard]] std::shared_ptr<const http_url> home() const {
        const os_lock lock(mutex_);
        return home_;
    }
    /// The server has been reached: if it can't be any more, that may pass.
    void note_opened() noexcept { is_open_ = true; }

    /// Errors: those of http_client::check_process(), before anything is locked.
    result<void> start(http_piece& piece, http_call& call) const {
        ZTENSOR_TRY(client_->check_process());
        piece.attempt.deadline = 0;
        return send(piece, call);
    }

    /// What follows from how an attempt ended. `failed`: piece.failure says why.
    http_step advance(http_piece& piece, http_call& call) const {
        const http_attempt& attempt = piece.attempt;
        if (attempt.is_pause && attempt.failure == http_failure::none) {
            return again(piece, call);
        }
        if (piece.message != nullptr) {
            return advance_message(piece, call);
        }
        if (!attempt.is_pause && attempt.head.is_complete() && attempt.head.range() &&
            (attempt.problem == http_problem::none || attempt.problem == http_problem::body_too_long)) {
            note_progress(piece);
        }
        if (attempt.problem == http_problem::none && !piece.is_suffix && !piece.may_be_short && attempt.received != 0 &&
            piece.begin == piece.end) { // whatever happened to the connection afterwards
            remember_location(piece);
            return http_step::done;
        }
        if (attempt.is_pause || attempt.failure == http_failure::cancelled ||
            attempt.failure == http_failure::out_of_memory || attempt.failure == http_failure::timed_out) {
            return failed(piece);
        }
        if (attempt.problem == http_problem::other_status && attempt.head.is_complete()) {
            return advance_by_status(piece, call);
        }
        switch (attempt.failure) {
        case http_failure::none:
        case http_failure::stopped:
            if (attempt.problem == http_problem::none) { // fewer bytes than the range has
                return repeat(piece, call, settings_->retries);
            }
            piece.is_refused = attempt.problem == http_problem::whole_content ||
                               attempt.problem == http_problem::no_range ||
                               attempt.problem == http_problem::other_range;
            return failed(piece);
        default:
            return advance_by_failure(piece, call);
        }
    }

private:
    /// The next request of a piece: to where a redirect has just led, else to where one led before, else to the URL.
    result<void> send(http_piece& piece, http_call& call) const {
        http_attempt& attempt = piece.attempt;
        if (!piece.is_following) {
            const os_lock lock(mutex_);
            piece.home = home_;
            piece.generation = generation_;
            attempt.target = located_ != nullptr ? located_ : home_;
        }
        attempt.message = piece.message;
        attempt.asked = {piece.begin, piece.end, piece.is_suffix, piece.may_be_short, piece.total, piece.tag};
        attempt.to = &piece.to;
        attempt.is_pause = false;
        attempt.not_before = 0;
        http_fields fields;
        if (piece.message != nullptr) {
            if (!piece.message->query.empty()) {
                ZTENSOR_TRY_ASSIGN(http_url url, http_url::parse(piece.home->text() + '?' + piece.message->query));
                attempt.target = std::make_shared<const http_url>(std::move(url));
            }
            fields = piece.message->fields;
        } else {
            fields.emplace_back("Range", piece.is_suffix ? sentence("bytes=-{}", {piece.end})
                                                         : sentence("bytes={}-{}", {piece.begin, piece.end - 1}));
        }
        fields.emplace_back("Accept-Encoding", "identity");
        if (is_strong_tag(piece.tag) && attempt.target->host() == piece.tag_host) {
            fields.emplace_back("If-Match", piece.tag);
        }
        attempt.user.clear();
        attempt.password.clear();
        if (attempt.target->is_at_home_of(*piece.home)) { // other hosts must not get credentials
            attempt.user = piece.home->user();
            attempt.password = piece.home->password();
            fields.insert(fields.end(), settings_->headers.begin(), settings_->headers.end());
            ZTENSOR_TRY_ASSIGN(http_fields added, signature_of(piece, fields));
            ZTENSOR_TRY(check_fields(added));
            std::move(added.begin(), added.end(), std::back_inserter(fields));
        }
        attempt.fields.clear();
        for (const auto& [name, value] : fields) {
            if (!attempt.fields.add(name, value)) {
                return fail(errc::out_of_memory, "libcurl ran out of memory");
            }
        }
        if (piece.message != nullptr && !attempt.fields.suppress("Expect:")) { // not every server knows it
            return fail(errc::out_of_memory, "libcurl ran out of memory");
        }
        return call.submit(piece);
    }

    [[nodiscard]] result<http_fields> signature_of(const http_piece& piece, const http_fields& fields) const {
        const char* const method = piece.message != nullptr ? piece.message->method : "GET";
        const string& url = piece.attempt.target->text();
        if (settings_->store != nullptr) {
            return settings_->store->sign(method, url, fields,
                                          piece.message != nullptr ? piece.message->payload_sha256 : string_view());
        }
        return settings_->sign ? settings_->sign(method, url, fields) : http_fields();
    }

    static void note_progress(http_piece& piece) {
        const http_attempt& attempt = piece.attempt;
        const http_content_range& range = *attempt.head.range();
        piece.begin = range.begin + attempt.received;
        piece.end = range.end;
        piece.to.advance(attempt.received);
        piece.is_suffix = piece.may_be_short = false;
        piece.total = range.total;
        if (piece.tag.empty()) {
            piece.tag = attempt.head.tag();
            piece.tag_host = attempt.target->host();
        }
    }

    /// The connection failed, before or after it was there.
    http_step advance_by_failure(http_piece& piece, http_call& call) const {
        switch (piece.attempt.failure) {
        case http_failure::no_address:
        case http_failure::no_connection:
        case http_failure::handshake: // a mistake in the URL should not take a minute to be told
            return repeat(piece, call, is_open_ ? settings_->retries : (std::min)(settings_->retries, 2u));
        case http_failure::connect_timed_out:
        case http_failure::stalled:
        case http_failure::broken:
            return repeat(piece, call, settings_->retries);
        default:
            return failed(piece);
        }
    }

    http_step advance_message(http_piece& piece, http_call& call) const {
        const http_attempt& attempt = piece.attempt;
        if (!attempt.is_pause && attempt.problem == http_problem::other_status && attempt.head.is_complete()) {
            return advance_by_status(piece, call);
        }
        if (attempt.is_pause || (attempt.failure != http_failure::none && attempt.failure != http_failure::stopped)) {
            return advance_by_failure(piece, call);
        }
        // S3 begins some answers before it knows how they end.
        const optional<s3_reply> reply = parse_s3_reply(attempt.reply());
        if (attempt.problem == http_problem::none && reply && reply->is_error()) {
            const bool may_pass = reply->code == "InternalError" || reply->code == "SlowDown" ||
                                  reply->code == "ServiceUnavailable" || reply->code == "RequestTimeout";
            return may_pass ? repeat(piece, call, settings_->retries) : failed(piece);
        }
        return attempt.problem == http_problem::none ? http_step::done : failed(piece);
    }

    /// True if the store knows what was wrong with the request, and it can be made again.
    ZTENSOR_COLD result<bool> correct(http_piece& piece) const {
        if (settings_->store == nullptr || piece.corrections >= 2 ||
            !piece.attempt.target->is_at_home_of(*piece.home)) {
            return false;
        }
        const os_lock one_at_a_time(refreshing_);
        {
            const os_lock lock(mutex_);
            if (generation_ != piece.generation) {
                ++piece.corrections;
                return true;
            }
        }
        const optional<string> text =
            settings_->store->correct(piece.home->text(), piece.attempt.head, piece.attempt.reply());
        if (!text) {
            return false;
        }
        ++piece.corrections;
        ZTENSOR_TRY_ASSIGN(http_url made, http_url::parse(*text));
        replace_home(std::move(made));
        return true;
    }

    http_step advance_by_status(http_piece& piece, http_call& call) const {
        const http_response_head& head = piece.attempt.head;
        const result<bool> is_corrected = head.status() < 500 ? correct(piece) : false;
        if (!is_corrected) {
            piece.failure = is_corrected.error();
            return http_step::failed;
        }
        if (*is_corrected) {
            piece.is_following = false;
            return again(piece, call);
        }
        const bool is_message = piece.message != nullptr;
        switch (head.status()) {
        case 301:
        case 302:
        case 303:
        case 307:
        case 308:
            return is_message ? failed(piece) : follow(piece, call);
        case 401:
        case 403:
        case 404:
        case 410:
            return is_message ? failed(piece) : recover(piece, call);
        case 408:
        case 429:
        case 500:
        case 502:
        case 503:
        case 504:
            return repeat(piece, call, settings_->retries,
                          parse_retry_after(head.retry_after(), static_cast<uint64_t>(std::time(nullptr))));
        case 416:
            if (piece.may_be_short && head.range() && head.range()->total == 0) { // a file without bytes
                piece.total = 0;
                return http_step::done;
            }
            break;
        default:
            break;
        }
        piece.is_refused = head.status() == 400 || head.status() == 405 || head.status() == 416 || head.status() == 501;
        return failed(piece);
    }

    ZTENSOR_COLD static http_step failed(http_piece& piece) {
        piece.failure = describe_attempt(piece);
        return http_step::failed;
    }
    http_step again(http_piece& piece, http_call& call) const {
        if (result<void> sent = send(piece, call); !sent) {
            piece.failure = std::move(sent).error();
            return http_step::failed;
        }
        return http_step::goes_on;
    }

    /// Where a redirect leads: to http or https alone, and never from https to http.
    ZTENSOR_COLD http_step follow(http_piece& piece, http_call& call) const {
        const std::shared_ptr<const http_url> from = piece.attempt.target;
        const auto refuse = [&](const char* why) {
            piece.failure =
                fail(errc::io_error, "the URL redirects (status {}), and {}", {piece.attempt.head.status(), why});
            return http_step::failed;
        };
        if (++piece.redirects > settings_->redirects) {
            return refuse("more often than http_options::redirects() allows");
        }
        if (piece.attempt.head.location().empty()) {
            return refuse("does not say where to");
        }
        result<http_url> to = from->resolve(piece.attempt.head.location());
        if (!to) {
            return refuse("to something else than a URL of http or https");
        }
        if (from->is_https() && !to->is_https()) {
            return refuse("from https to http, which is not safe");
        }
        piece.attempt.target = std::make_shared<const http_url>(*std::move(to));
        piece.is_following = true;
        return again(piece, call);
    }

    /// The server refuses access, or has nothing there: where redirects led there, it may have expired, and what was
    /// given may lead elsewhere; or what was given may have expired.
    ZTENSOR_COLD http_step recover(http_piece& piece, http_call& call) const {
        const unsigned status = piece.attempt.head.status();
        const bool is_refused_access = status == 401 || status == 403;
        const bool was_redirected = piece.attempt.target->text() != piece.home->text();
        if (was_redirected && !std::exchange(piece.has_gone_back, true)) {
            const os_lock lock(mutex_);
            if (located_ != nullptr && located_->text() == piece.attempt.target->text()) {
                located_ = nullptr;
            }
        } else if (is_refused_access && settings_->refresh && piece.refreshes++ < 2) {
            if (result<void> is_new = refresh_home(piece); !is_new) {
                piece.failure = std::move(is_new).error();
                return http_step::failed;
            }
        } else {
            return failed(piece);
        }
        piece.is_following = false;
        piece.redirects = 0;
        return again(piece, call);
    }

    /// Asks for a URL that has not expired, unless another thread has just done so.
    result<void> refresh_home(const http_piece& piece) const {
        const os_lock one_at_a_time(refreshing_);
        {
            const os_lock lock(mutex_);
            if (generation_ != piece.generation) {
                return {};
            }
        }
        ZTENSOR_TRY_ASSIGN(const string text, settings_->refresh(path_));
        ZTENSOR_TRY_ASSIGN(http_url made, http_url::parse(text));
        replace_home(std::move(made));
        return {};
    }
    void replace_home(http_url made) const {
        auto home = std::make_shared<const http_url>(std::move(made));
        const os_lock lock(mutex_);
        home_ = std::move(home);
        located_ = nullptr;
        ++generation_;
    }

    void remember_location(const http_piece& piece) const {
        if (piece.is_following) {
            const os_lock lock(mutex_);
            if (generation_ == piece.generation) {
                located_ = piece.attempt.target;
            }
        }
    }

    /// Waits as long as the server says, and at least a random part of a time that doubles with each try; then goes on
    /// with the bytes that are not here yet.
    ZTENSOR_COLD http_step repeat(http_piece& piece, http_call& call, unsigned most_tries,
                                  optional<uint64_t> wanted_seconds = std::nullopt) const {
        http_attempt& attempt = piece.attempt;
        if (piece.tries >= most_tries) {
            return failed(piece);
        }
        uint64_t random = clock_ticks() + address_of(&piece) * 0x9e3779b97f4a7c15u;
        random = (random ^ random >> 30) * 0xbf58476d1ce4e5b9u;
        random = (random ^ random >> 27) * 0x94d049bb133111ebu;
        const double part = static_cast<double>(random >> 11) * 0x1p-53;
        const double wait = (std::max)(part * settings_->back_off_ms(piece.tries) / 1000,
                                       wanted_seconds ? static_cast<double>(*wanted_seconds) : 0.0);
        const double due = steady_seconds() + wait;
        if (due >= attempt.deadline) { // waiting would be for nothing
            return failed(piece);
        }
        ++piece.tries;
        attempt.is_pause = true;
        attempt.not_before = due;
        if (result<void> sent = call.submit(piece); !sent) {
            piece.failure = std::move(sent).error();
            return http_step::failed;
        }
        return http_step::goes_on;
    }

    std::shared_ptr<http_client> client_;
    std::shared_ptr<const http_settings> settings_;
    string path_;
    bool is_open_ = false;

    mutable os_mutex refreshing_;
    mutable os_mutex mutex_; ///< of what follows
    mutable std::shared_ptr<const http_url> home_;
    mutable std::shared_ptr<const http_url> located_; ///< where redirects led; null: nowhere else
    mutable uint64_t generation_ = 0;                 ///< of `home_`
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
