// SPDX-License-Identifier: MIT
//
// Calls of libcurl, from 7.68 on: one thread that has many transfers under way. What to ask and what to make of the
// answer is transfers.hpp's.
#ifndef ZTENSOR_DETAIL_HTTP_CLIENT_HPP
#define ZTENSOR_DETAIL_HTTP_CLIENT_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/http/failures.hpp>
#include <ztensor/detail/http/messages.hpp>
#include <ztensor/detail/http/url.hpp>
#include <ztensor/detail/os/tasks.hpp>
#include <ztensor/error.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <curl/curl.h>
#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- library

/// The program is about to end: libraries that libcurl uses, such as OpenSSL, may have cleaned up after themselves, so
/// that no connection can be closed in an orderly way any more.
[[nodiscard]] inline std::atomic<bool>& http_program_ends() noexcept {
    static std::atomic<bool> ends{false};
    return ends;
}

/// libcurl is set up when it is first used, and never taken down. Errors: io_error where it can't be set up; those of
/// check_settings().
ZTENSOR_COLD inline result<void> begin_http(const http_settings& settings) {
    ZTENSOR_TRY(check_settings(settings));
    static const bool is_set_up = [] {
        // What runs at exit runs in reverse order: the function given here before those of libraries that libcurl
        // loads.
        return ::curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK &&
               std::atexit([] { http_program_ends().store(true); }) == 0;
    }();
    return is_set_up ? result<void>() : fail(errc::io_error, "libcurl can't be set up");
}

// -- attempt

/// Header fields as libcurl takes them.
class http_field_list {
public:
    http_field_list() noexcept = default;
    http_field_list(const http_field_list&) = delete;
    http_field_list& operator=(const http_field_list&) = delete;
    ~http_field_list() { clear(); }

    void clear() noexcept { ::curl_slist_free_all(std::exchange(first_, nullptr)); }
    /// False where memory runs out.
    [[nodiscard]] bool add(const string& name, const string& value) {
        curl_slist* const longer =
            ::curl_slist_append(first_, (value.empty() ? name + ";" : name + ": " + value).c_str());
        first_ = longer != nullptr ? longer : first_;
        return longer != nullptr;
    }
    /// Keeps libcurl from sending a field of its own. False where memory runs out.
    [[nodiscard]] bool suppress(const char* name_and_colon) noexcept {
        curl_slist* const longer = ::curl_slist_append(first_, name_and_colon);
        first_ = longer != nullptr ? longer : first_;
        return longer != nullptr;
    }
    [[nodiscard]] curl_slist* get() const noexcept { return first_; }

private:
    curl_slist* first_ = nullptr;
};

/// Where the bytes of a range go: into memory of several owners, one behind the other.
class http_destination {
public:
    /// `to` is null for bytes that are thrown away.
    void add(byte* to, uint64_t size) { parts_.push_back({to, (parts_.empty() ? 0 : parts_.back().end) + size}); }

    /// So many bytes are there; what follows is counted from here on.
    void advance(uint64_t bytes) noexcept { done_ += bytes; }

    /// The bytes from `at` on, which there is room for.
    void write(uint64_t at, const char* data, size_t size) const noexcept {
        at += done_;
        uint64_t begin = 0;
        for (const part& each : parts_) {
            if (at < each.end && size != 0) {
                const auto count = static_cast<size_t>((std::min<uint64_t>)(each.end - at, size));
                if (each.to != nullptr) {
                    std::memcpy(each.to + (at - begin), data, count);
                }
                data += count;
                size -= count;
                at += count;
            }
            begin = each.end;
        }
    }

private:
    struct part {
        byte* to;
        uint64_t end; ///< counted from the begin of the first
    };

    vector<part> parts_;
    uint64_t done_ = 0;
};

struct http_attempt;

/// What the thread of a call waits on.
struct http_inbox {
    os_condition has_arrived;
    http_attempt* first = nullptr; ///< those that have ended, in order
    http_attempt* last = nullptr;
    size_t under_way = 0; ///< submitted, and not taken out of here
};

/// One request and its response; or, with `is_pause`, the time until `not_before`.
struct http_attempt {
    http_attempt() = default;
    http_attempt(const http_attempt&) = delete;
    http_attempt& operator=(const http_attempt&) = delete;

    // What is asked, set by the caller before it is submitted. Times are those of steady_seconds().
    std::shared_ptr<const http_url> target;
    http_field_list fields;
    string user, password;
    const http_message* message = nullptr; ///< what is sent; null: a range is asked for
    http_range_request asked;
    const http_destination* to = nullptr; ///< room for the whole range
    span<char> room;                      ///< for an answer to a message, or the begin of one that tells of an error
    bool is_pause = false;
    double not_before = 0;
    double deadline = 0; ///< 0: http_settings::deadline_ms after it gets its turn
    double patience = 1; ///< so many times that long; if it is more than 1, also until the attempt stalls

    // What came, to be read when it has ended.
    http_response_head head;
    http_problem problem = http_problem::none;
    http_failure failure = http_failure::none;
    const char* words = ""; ///< of libcurl on the failure
    int os_error = 0;       ///< why there is no connection
    size_t received = 0;    ///< bytes of the range, in order from its begin

    /// The answer's body, as far as there is room for it.
    [[nodiscard]] string_view reply() const noexcept { return {room.data(), replied_}; }

private:
    friend class http_client;

    static constexpr size_t most_unwanted = size_t{16} << 10; ///< is read on so that the connection can be kept

    void reset() noexcept {
        head.clear();
        problem = http_problem::none;
        failure = http_failure::none;
        words = "";
        os_error = 0;
        received = 0;
        replied_ = 0;
        sent_ = 0;
        unwanted_ = 0;
        is_judged_ = false;
        is_cancelled_ = false;
    }
    void judge() noexcept {
        if (!is_judged_) {
            problem = message != nullptr ? message->check(head) : asked.check(head);
            is_judged_ = true;
        }
    }
    [[nodiscard]] bool take(const char* data, size_t size) noexcept {
        judge();
        if (problem == http_problem::other_status || (problem == http_problem::none && message != nullptr)) {
            const size_t kept = (std::min)(size, room.size() - replied_);
            std::copy_n(data, kept, room.data() + replied_);
            replied_ += kept;
            unwanted_ += size - kept;
            if (message != nullptr && problem == http_problem::none && unwanted_ != 0) {
                problem = http_problem::body_too_long;
            }
            return unwanted_ <= most_unwanted;
        }
        if (problem != http_problem::none) {
            return false;
        }
        const http_content_range& range = *head.range();
        if (size > range.end - range.begin - received) {
            problem = http_problem::body_too_long;
            return false;
        }
        to->write(received, data, size);
        received += size;
        return true;
    }

    http_inbox* inbox_ = nullptr;
    http_attempt* next_ = nullptr;
    http_attempt* previous_ = nullptr;
    CURL* easy_ = nullptr; ///< while it is under way
    double last_byte_ = 0;
    curl_off_t sent_ = 0;
    size_t replied_ = 0;
    size_t unwanted_ = 0;
    bool is_judged_ = false;
    bool is_cancelled_ = false;
};

// -- client

/// Connections and the one thread that reads from them, for all calls of the sources that share it. The thread starts
/// with the first request. In a process that was forked off it is not: there every submit() fails, and nothing is
/// cleaned up, for the connections are the parent's.
class http_client {
public:
    explicit http_client(std::shared_ptr<const http_settings> settings) : settings_(std::move(settings)) {}
    http_client(const http_client&) = delete;
    http_client& operator=(const http_client&) = delete;
    /// No call is under way.
    ~http_client() {
        if (!is_ours()) {
            return;
        }
        if (thread_.is_started()) {
            {
                const os_lock lock(mutex_);
                is_over_ = true;
                wake();
            }
            thread_.join();
        }
        if (multi_ != nullptr && !http_program_ends().load()) {
            ::curl_multi_cleanup(multi_);
        }
    }

    /// To be called once by each entry of an adaptor, before anything is locked: in a process that was forked off the
    /// copy of a mutex may be locked for ever. Errors: io_error.
    [[nodiscard]] result<void> check_process() const {
        return is_ours() ? result<void>()
                         : fail(errc::io_error, "this process was forked off from the one that opened the URL: open it "
                                                "again");
    }

    /// Begins an attempt, which then is the worker's until wait() gives it. Errors: io_error, out_of_memory.
    result<void> submit(http_attempt& attempt, http_inbox& inbox) noexcept {
        const os_lock lock(mutex_);
        if (!thread_.is_started()) {
            ZTENSOR_TRY(start_worker());
        }
        attempt.reset();
        attempt.inbox_ = &inbox;
        attempt.previous_ = last_;
        attempt.next_ = nullptr;
        (last_ != nullptr ? last_->next_ : first_) = &attempt;
        last_ = &attempt;
        ++inbox.under_way;
        wake();
        return {};
    }

    /// The next attempt of the inbox that has ended; null if none ends in a short while. At least one is under way.
    [[nodiscard]] http_attempt* wait(http_inbox& inbox) noexcept {
        const os_lock lock(mutex_);
        if (inbox.first == nullptr) {
            inbox.has_arrived.wait_for(mutex_, watch_seconds);
        }
        http_attempt* const ended = inbox.first;
        if (ended != nullptr) {
            inbox.first = ended->next_;
            inbox.last = inbox.first != nullptr ? inbox.last : nullptr;
            --inbox.under_way;
        }
        return ended;
    }

    /// Ends those attempts of the inbox soon for which `is_meant(attempt)`; wait() still gives them.
    template <class Condition>
    void cancel(http_inbox& inbox, Condition is_meant) noexcept {
        const os_lock lock(mutex_);
        bool is_any = false;
        for (http_attempt* each = first_; each != nullptr; each = each->next_) {
            if (each->inbox_ == &inbox && is_meant(*each)) {
                each->is_cancelled_ = is_any = true;
            }
        }
        if (is_any) {
            wake();
        }
    }

    /// False in a process that was forked off from the one that made it.
    [[nodiscard]] bool is_ours() const noexcept { return process_ == process_id(); }

private:
    result<void> start_worker() noexcept {
        if (multi_ == nullptr) {
            multi_ = ::curl_multi_init();
            if (multi_ == nullptr) {
                return fail(errc::io_error, "libcurl has no memory or no descriptors for its connections");
            }
            ::curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(settings_->requests_in_flight));
            // Several connections carry more than one, so that few requests share one even where HTTP/2 lets them.
            ::curl_multi_setopt(multi_, CURLMOPT_MAX_CONCURRENT_STREAMS, 4L);
            wake();
        }
        return thread_.start([](void* self) { static_cast<http_client*>(self)->work(); }, this)
                   ? result<void>()
                   : fail(errc::io_error, "the system has no thread for the transfers of a URL");
    }

    /// Ends the worker's wait. That takes descriptors which libcurl may not have got: then the worker wakes by itself.
    /// `mutex_` is held.
    void wake() noexcept { can_be_woken_ = ::curl_multi_wakeup(multi_) == CURLM_OK; }

    // -- the worker's thread, where nothing may throw

    void work() noexcept {
        for (;;) {
            double next_event = 0;
            if (!begin_and_cancel(next_event)) {
                break;
            }
            int running = 0;
            ::curl_multi_perform(multi_, &running);
            int left = 0;
            bool has_ended = false;
            while (const CURLMsg* const message = ::curl_multi_info_read(multi_, &left)) {
                if (message->msg == CURLMSG_DONE) {
                    end(message->easy_handle, message->data.result);
                    has_ended = true;
                }
            }
            if (!has_ended) { // else there is room for others
                const double wait = (std::max)(0.0, next_event - steady_seconds());
                if (::curl_multi_poll(multi_, nullptr, 0, static_cast<int>(wait * 1000) + 1, nullptr) != CURLM_OK) {
                    const os_lock lock(mutex_);
                    has_failed_.wait_for(mutex_, 0.01); // what can't be polled is asked again, but not all the time
                }
            }
        }
        if (!http_program_ends().load()) {
            while (idle_ != 0) {
                ::curl_easy_cleanup(handles_[--idle_]);
            }
            ::curl_multi_cleanup(std::exchange(multi_, nullptr)); // here, where no signal of a dead connection counts
        }
    }

    /// Begins what is due while there is room, and ends what is cancelled or late. `next_event` is when to look again,
    /// soon while anything is under way: no deadline depends on being woken. False if there is nothing to do any more.
    bool begin_and_cancel(double& next_event) noexcept {
        const os_lock lock(mutex_);
        const double now = steady_seconds();
        next_event = now + (first_ != nullptr || !can_be_woken_ ? watch_seconds : 600.0);
        for (http_attempt* each = first_; each != nullptr;) {
            http_attempt& attempt = *each;
            each = attempt.next_;
            const bool is_due = attempt.not_before <= now;
            if (attempt.is_cancelled_) {
                finish(attempt, http_failure::cancelled);
            } else if (attempt.easy_ != nullptr) {
                if (!is_connected(attempt)) { // for which there is a time of its own
                    attempt.last_byte_ = now;
                }
                const double stalls_at =
                    attempt.last_byte_ + (std::max)(1.0, attempt.patience) * settings_->stall_ms / 1000.0;
                if (stalls_at <= now) { // libcurl itself would notice it seconds later
                    finish(attempt, http_failure::stalled);
                } else if (attempt.deadline + 1 <= now) { // which libcurl itself should have noticed
                    finish(attempt, http_failure::timed_out);
                } else {
                    next_event = (std::min)(next_event, (std::max)(stalls_at, now + 0.05));
                }
            } else if (attempt.is_pause && is_due) {
                finish(attempt, http_failure::none);
            } else if (attempt.deadline != 0 && attempt.deadline <= now) {
                finish(attempt, http_failure::timed_out);
            } else if (is_due && !attempt.is_pause && active_ < settings_->requests_in_flight) {
                if (const CURLcode code = begin(attempt, now); code != CURLE_OK) {
                    attempt.words = ::curl_easy_strerror(code);
                    finish(attempt, failure_of(code, false, false, attempt.deadline <= now));
                }
            } else {
                next_event = (std::min)({next_event, attempt.deadline != 0 ? attempt.deadline : next_event,
                                         is_due ? next_event : attempt.not_before});
            }
        }
        return !is_over_ || first_ != nullptr;
    }

    [[nodiscard]] CURLcode begin(http_attempt& attempt, double now) noexcept {
        CURL* const easy = idle_ != 0 ? handles_[--idle_] : ::curl_easy_init();
        if (easy == nullptr) {
            return CURLE_OUT_OF_MEMORY;
        }
        attempt.easy_ = easy;
        attempt.last_byte_ = now;
        attempt.deadline =
            attempt.deadline != 0 ? attempt.deadline : now + attempt.patience * settings_->deadline_ms / 1000.0;
        ++active_;
        const CURLcode code = configure(easy, attempt, now);
        const CURLMcode added = code == CURLE_OK ? ::curl_multi_add_handle(multi_, easy) : CURLM_OK;
        return added == CURLM_OK ? code : added == CURLM_OUT_OF_MEMORY ? CURLE_OUT_OF_MEMORY : CURLE_FAILED_INIT;
    }

    [[nodiscard]] CURLcode configure(CURL* easy, http_attempt& attempt, double now) const noexcept {
        CURLcode code = CURLE_OK;
        const auto set = [&](CURLoption option, auto value) {
            code = code != CURLE_OK ? code : (::curl_easy_setopt)(easy, option, value); // not a macro that checks types
        };
        set(CURLOPT_URL, attempt.target->text().c_str());
        set(CURLOPT_PATH_AS_IS, 1L);
        set(CURLOPT_HTTPHEADER, attempt.fields.get());
        set(CURLOPT_USERAGENT, settings_->user_agent.c_str());
        if (!attempt.user.empty() || !attempt.password.empty()) {
            set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
            set(CURLOPT_USERNAME, attempt.user.c_str());
            set(CURLOPT_PASSWORD, attempt.password.c_str());
        }
        set(CURLOPT_NOSIGNAL, 1L);
#if LIBCURL_VERSION_NUM >= 0x075700
        ::curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L); // what is cancelled does not wait for DNS
#endif
        set(CURLOPT_FOLLOWLOCATION, 0L); // transfers.hpp follows, and decides who is told what
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
#if LIBCURL_VERSION_NUM >= 0x075500
        set(CURLOPT_PROTOCOLS_STR, "http,https");
#else
        set(CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
        ::curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
                           static_cast<long>(CURL_HTTP_VERSION_2TLS)); // where it has HTTP/2
        ::curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
        ::curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 256L << 10);
        set(CURLOPT_SSL_VERIFYPEER, settings_->is_insecure ? 0L : 1L);
        set(CURLOPT_SSL_VERIFYHOST, settings_->is_insecure ? 0L : 2L);
        if (!settings_->ca_file.empty()) {
            set(CURLOPT_CAINFO, settings_->ca_file.c_str());
        }
        const double left_ms = (std::max)(1.0, (attempt.deadline - now) * 1000);
        set(CURLOPT_TIMEOUT_MS, static_cast<long>((std::min)(left_ms, 2e9)));
        set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>((std::min)(settings_->connect_ms, uint32_t{2'000'000'000})));
        if (attempt.message != nullptr) {
            set(CURLOPT_CUSTOMREQUEST, attempt.message->method);
            if (attempt.message->method == string_view("HEAD")) {
                set(CURLOPT_NOBODY, 1L);
            } else if (attempt.message->method != string_view("DELETE")) {
                set(CURLOPT_POSTFIELDS,
                    !attempt.message->body.empty() ? static_cast<const void*>(attempt.message->body.data()) : "");
                set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(attempt.message->body.size()));
                ::curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, 512L << 10);
            }
            set(CURLOPT_NOPROGRESS, 0L);
            set(CURLOPT_XFERINFOFUNCTION, &note_sent);
            set(CURLOPT_XFERINFODATA, static_cast<void*>(&attempt));
        }
        set(CURLOPT_HEADERFUNCTION, &take_line);
        set(CURLOPT_HEADERDATA, static_cast<void*>(&attempt));
        set(CURLOPT_WRITEFUNCTION, &take_body);
        set(CURLOPT_WRITEDATA, static_cast<void*>(&attempt));
        set(CURLOPT_PRIVATE, static_cast<void*>(&attempt));
        return code;
    }

    static size_t take_line(char* data, size_t /*one*/, size_t size, void* attempt) noexcept {
        auto& receiving = *static_cast<http_attempt*>(attempt);
        receiving.last_byte_ = steady_seconds();
        return receiving.head.add_line({data, size}) ? size : 0;
    }
    static size_t take_body(char* data, size_t /*one*/, size_t size, void* attempt) noexcept {
        auto& receiving = *static_cast<http_attempt*>(attempt);
        receiving.last_byte_ = steady_seconds();
        return receiving.take(data, size) ? size : 0;
    }

    /// Bytes that go out count like those that come in.
    static int note_sent(void* attempt, curl_off_t, curl_off_t, curl_off_t, curl_off_t sent) noexcept {
        auto& sending = *static_cast<http_attempt*>(attempt);
        if (sending.sent_ != sent) {
            sending.sent_ = sent;
            sending.last_byte_ = steady_seconds();
        }
        return 0;
    }

    /// The request has been sent, or is about to be.
    [[nodiscard]] static bool is_connected(const http_attempt& attempt) noexcept {
        curl_off_t microseconds = 0;
        return ::curl_easy_getinfo(attempt.easy_, CURLINFO_PRETRANSFER_TIME_T, &microseconds) == CURLE_OK &&
               microseconds != 0;
    }

    void end(CURL* easy, CURLcode code) noexcept {
        char* context = nullptr;
        ::curl_easy_getinfo(easy, CURLINFO_PRIVATE, &context);
        auto& attempt = *static_cast<http_attempt*>(static_cast<void*>(context));
        long os_error = 0;
        ::curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &os_error);
        attempt.os_error = static_cast<int>(os_error);
        attempt.words = ::curl_easy_strerror(code);
        const os_lock lock(mutex_);
        if (is_too_large_head(code) && is_connected(attempt) && !attempt.head.is_complete()) {
            attempt.problem = http_problem::head_too_large;
            attempt.is_judged_ = true;
            code = CURLE_WRITE_ERROR;
        }
        finish(attempt, failure_of(code, is_connected(attempt), attempt.head.is_complete(),
                                   attempt.deadline <= steady_seconds() + 0.01));
    }

    /// Hands the attempt back. `mutex_` is held.
    void finish(http_attempt& attempt, http_failure why) noexcept {
        if (attempt.easy_ != nullptr) {
            ::curl_multi_remove_handle(multi_, attempt.easy_); // before that an attempt that ends early writes
            ::curl_easy_reset(attempt.easy_);
            if (idle_ < std::size(handles_)) {
                handles_[idle_++] = attempt.easy_;
            } else {
                ::curl_easy_cleanup(attempt.easy_);
            }
            attempt.easy_ = nullptr;
            --active_;
            if (why != http_failure::cancelled) {
                attempt.judge();
            }
        }
        attempt.failure = why;
        (attempt.previous_ != nullptr ? attempt.previous_->next_ : first_) = attempt.next_;
        (attempt.next_ != nullptr ? attempt.next_->previous_ : last_) = attempt.previous_;
        attempt.next_ = nullptr;
        http_inbox& inbox = *attempt.inbox_;
        (inbox.last != nullptr ? inbox.last->next_ : inbox.first) = &attempt;
        inbox.last = &attempt;
        inbox.has_arrived.notify_one();
    }

    std::shared_ptr<const http_settings> settings_;
    const uint64_t process_ = process_id();
    os_thread thread_;
    CURLM* multi_ = nullptr;
    os_mutex mutex_;
    http_attempt* first_ = nullptr; ///< those that have not ended, in the order in which they came
    http_attempt* last_ = nullptr;
    bool is_over_ = false;
    bool can_be_woken_ = true; ///< as far as was tried
    os_condition has_failed_;  ///< no thread gives notice of it

    // The worker's own.
    size_t active_ = 0;
    size_t idle_ = 0;
    CURL* handles_[64] = {};
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
