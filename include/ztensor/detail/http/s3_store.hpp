// SPDX-License-Identifier: MIT
//
// Objects of S3: what is added to requests for one and its neighbours (where they go, by which region they are signed,
// and what an answer says about both), and one as a sink of bytes.
#ifndef ZTENSOR_DETAIL_HTTP_S3_STORE_HPP
#define ZTENSOR_DETAIL_HTTP_S3_STORE_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/http/client.hpp>
#include <ztensor/detail/http/md5.hpp>
#include <ztensor/detail/http/messages.hpp>
#include <ztensor/detail/http/s3_credentials.hpp>
#include <ztensor/detail/http/s3_replies.hpp>
#include <ztensor/detail/http/s3_request.hpp>
#include <ztensor/detail/http/transfers.hpp>
#include <ztensor/detail/http/url.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/error.hpp>
#include <ztensor/io.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <ctime>
#include <functional>
#include <memory>
#include <system_error>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

class s3_store final : public http_store {
public:
    using keys_function = std::function<result<aws_keys>()>;

    /// Requests are signed with the keys of `function`, if it is given, else with those of the account, if it has any.
    s3_store(string bucket, s3_account account, keys_function function)
        : bucket_(std::move(bucket)), keys_(std::move(account.keys)), function_(std::move(function)),
          place_(std::move(account.place)) {}

    /// Errors: invalid_argument; those of the function for keys.
    [[nodiscard]] result<http_fields> sign(string_view method, string_view url, const http_fields& fields,
                                           string_view payload_sha256) const override {
        const s3_place place = this->place();
        ZTENSOR_TRY_ASSIGN(const bool is_here, is_in(url, place));
        if (!is_here || (function_ == nullptr && !keys_)) {
            return http_fields();
        }
        s3_request request;
        request.method = method;
        request.url = url;
        request.headers = fields;
        request.payload_sha256 = !payload_sha256.empty() ? payload_sha256 : empty_payload_sha256;
        request.region = place.region;
        request.unix_seconds = static_cast<uint64_t>(std::time(nullptr));
        if (function_ == nullptr) {
            return sign_s3_request(request, *keys_);
        }
        ZTENSOR_TRY_ASSIGN(const aws_keys keys, function_());
        return sign_s3_request(request, keys);
    }

    /// The bucket is in another region; the keys have expired, and there is a function for new ones; or S3 did not get
    /// the request in time.
    [[nodiscard]] optional<string> correct(string_view url, const http_response_head& head,
                                           string_view body) const override {
        const unsigned status = head.status();
        const s3_reply reply = parse_s3_reply(body).value_or(s3_reply());
        const string region = !head.bucket_region().empty() ? string(head.bucket_region()) : reply.region;
        if ((status == 301 || status == 307 || status == 400) && is_made_of(region, "-")) {
            s3_place place = this->place();
            const bool is_other = place.region != region;
            place.region = region;
            const result<string> moved = moved_to(url, place);
            if (moved && (is_other || *moved != url)) {
                const os_lock lock(mutex_);
                place_.region = region;
                return *moved;
            }
        }
        const string& code = reply.code;
        const bool has_expired = code == "ExpiredToken" || code == "InvalidToken" || code == "TokenRefreshRequired" ||
                                 code == "InvalidAccessKeyId";
        const bool may_pass = (function_ != nullptr && has_expired) || code == "RequestTimeout";
        return reply.is_error() && may_pass ? optional<string>(url) : std::nullopt;
    }

    /// s3://bucket/key of another object as a URL; other URLs as they are.
    [[nodiscard]] result<string> url_of(string text) const {
        if (text.compare(0, 5, "s3://") != 0) {
            return text;
        }
        ZTENSOR_TRY_ASSIGN(const s3_object object, parse_s3_uri(text));
        return s3_url(object, place());
    }

private:
    [[nodiscard]] s3_place place() const {
        const os_lock lock(mutex_);
        return place_;
    }

    /// Host and port of `place`, without a bucket.
    [[nodiscard]] static result<string> server_of(s3_place place) {
        place.path_style = true;
        ZTENSOR_TRY_ASSIGN(const string url, s3_url({"any", "any"}, place));
        return string(split_url(url).value_or(url_parts()).authority);
    }

    /// The URL is of the server that was named: signatures go nowhere else.
    [[nodiscard]] static result<bool> is_in(string_view url, const s3_place& place) {
        ZTENSOR_TRY_ASSIGN(const string server, server_of(place));
        const string_view host = split_url(url).value_or(url_parts()).authority;
        const size_t before = host.size() - (std::min)(server.size(), host.size());
        return host.substr(before) == server && (before == 0 || host[before - 1] == '.');
    }

    /// On AWS the region is a part of the host's name; servers of the caller's own stay where they are.
    [[nodiscard]] result<string> moved_to(string_view url, const s3_place& place) const {
        const optional<url_parts> parts = split_url(url);
        if (!place.endpoint.empty() || !parts) {
            return string(url);
        }
        ZTENSOR_TRY_ASSIGN(const string other, s3_url({bucket_, "any"}, place));
        const string_view host = split_url(other).value_or(url_parts()).authority;
        string moved = sentence("{}://{}{}", {parts->scheme, host, parts->path});
        return parts->query.empty() ? moved : moved.append(1, '?').append(parts->query);
    }

    string bucket_;
    optional<aws_keys> keys_;
    keys_function function_;
    mutable os_mutex mutex_;
    mutable s3_place place_; ///< whose region changes
};

/// What requests for an object are made with.
struct s3_target {
    string url;
    std::shared_ptr<const http_settings> settings;
};

/// Errors: invalid_argument; those of find_s3_account().
[[nodiscard]] ZTENSOR_COLD inline result<s3_target>
find_s3_target(string_view uri, const s3_choices& chosen, s3_store::keys_function function, http_settings settings) {
    ZTENSOR_TRY_ASSIGN(s3_object object, parse_s3_uri(uri));
    if (settings.sign) {
        return fail(errc::invalid_argument, "requests to S3 are signed as s3_options say, not by http_options::sign()");
    }
    ZTENSOR_TRY_ASSIGN(s3_account account, find_s3_account(chosen));
    s3_target target;
    ZTENSOR_TRY_ASSIGN(target.url, s3_url(object, account.place));
    if (settings.ca_file.empty()) {
        settings.ca_file = account.ca_bundle;
    }
    const auto store =
        std::make_shared<const s3_store>(std::move(object.bucket), std::move(account), std::move(function));
    settings.store = store;
    if (settings.shard_url) {
        settings.shard_url = [of = std::move(settings.shard_url), store](string_view name,
                                                                         string_view digest) -> result<string> {
            ZTENSOR_TRY_ASSIGN(string text, of(name, digest));
            return store->url_of(std::move(text));
        };
    }
    target.settings = std::make_shared<const http_settings>(std::move(settings));
    return target;
}

/// What s3_write_options hold.
struct s3_upload_settings {
    uint64_t part_bytes = uint64_t{8} << 20; ///< of the first parts
    unsigned parts_in_flight = 4;
    bool is_create_only = false;
    http_fields fields; ///< of the request that begins the object
};

/// Errors: invalid_argument.
ZTENSOR_COLD inline result<void> check_upload(const s3_upload_settings& settings) {
    if (settings.part_bytes < s3_least_part_bytes || settings.part_bytes > s3_most_part_bytes) {
        return fail(errc::invalid_argument, "a part of an upload to S3 has from {} to {} bytes",
                    {s3_least_part_bytes, s3_most_part_bytes});
    }
    if (settings.parts_in_flight == 0 || settings.parts_in_flight > 256) {
        return fail(errc::invalid_argument, "from 1 to 256 parts of an upload are under way at once");
    }
    return check_fields(settings.fields);
}

/// A message, its answer and how far it is.
struct s3_part : http_piece {
    http_message sent;
    vector<byte> content;
    unsigned index = 0;
    bool is_under_way = false;
};

class s3_upload final : public byte_sink {
public:
    s3_upload(std::shared_ptr<const http_settings> http, http_url home, s3_upload_settings settings)
        : settings_(std::move(settings)), client_(std::make_shared<http_client>(http)), is_https_(home.is_https()),
          transfers_(client_, std::move(http), std::move(home)) {
        call_.emplace(*client_);
    }
    s3_upload(const s3_upload&) = delete;
    s3_upload& operator=(const s3_upload&) = delete;
    /// Unless the object is complete, S3 is told to forget its parts.
    ~s3_upload() override {
        call_.reset();
        if (client_->is_ours() && !upload_id_.empty() && !is_complete_) {
            static_cast<void>(guard_memory([&] { return abort(); }));
        }
    }

    result<void> write(bytes_view bytes) override {
        return unless_over([&] { return append(bytes); });
    }

    result<void> finish() override {
        result<void> outcome = unless_over([&] { return complete(); });
        is_over_ = true;
        return outcome;
    }

private:
    /// After a failure nothing more is done.
    template <class Work>
    result<void> unless_over(const Work& work) {
        ZTENSOR_TRY(in_file(client_->check_process(), transfers_.path()));
        if (is_over_) {
            return fail(errc::writer_closed, "the upload has finished or failed");
        }
        result<void> outcome = in_file(guard_memory(work), transfers_.path());
        is_over_ = !outcome;
        was_stopped_ = !outcome && outcome.error().code() == errc::cancelled;
        return outcome;
    }

    [[nodiscard]] uint64_t part_bytes(unsigned index) const noexcept {
        return s3_part_bytes(settings_.part_bytes, index);
    }
    /// Large parts are fewer at once, so that they take no more memory than small ones as long as that is possible.
    [[nodiscard]] size_t most_in_flight(uint64_t bytes) const noexcept {
        const uint64_t each = (std::max)(settings_.part_bytes, uint64_t{16} << 20);
        return static_cast<size_t>((std::max)(uint64_t{1}, settings_.parts_in_flight * each / (std::max)(each, bytes)));
    }

    result<void> append(bytes_view bytes) {
        while (!bytes.empty()) {
            ZTENSOR_TRY_ASSIGN(s3_part* const filling, part_to_fill());
            const uint64_t most = part_bytes(filling->index);
            if (filling->content.size() == most) { // only now it is known that more follows
                ZTENSOR_TRY(send_part(*filling));
                continue;
            }
            const size_t count = smaller_size(most - filling->content.size(), bytes.size());
            filling->content.insert(filling->content.end(), bytes.begin(), bytes.begin() + count);
            written_bytes_ += count;
            bytes = bytes.subspan(count);
        }
        return {};
    }

    /// The part that is filled next. Waits for others to arrive if they take all the memory that there is.
    result<s3_part*> part_to_fill() {
        if (filling_ != nullptr) {
            return filling_;
        }
        const unsigned index = static_cast<unsigned>(tags_.size());
        if (index == s3_most_parts) {
            return fail(errc::limit_exceeded, "an object of S3 has at most {} parts: larger ones hold more",
                        {s3_most_parts});
        }
        ZTENSOR_TRY(settle_until(most_in_flight(part_bytes(index))));
        auto place = std::find_if(parts_.begin(), parts_.end(), [](const auto& each) { return !each->is_under_way; });
        if (place == parts_.end()) {
            parts_.push_back(std::make_unique<s3_part>());
            place = parts_.end() - 1;
        }
        s3_part& part = **place;
        part.content.clear();
        if (index != 0) { // the first may stay the only one, and small
            part.content.reserve(static_cast<size_t>(part_bytes(index)));
        }
        part.index = index;
        tags_.emplace_back();
        return filling_ = &part;
    }

    result<void> send_part(s3_part& part) {
        if (upload_id_.empty()) {
            ZTENSOR_TRY(begin_upload());
        }
        part.sent.query = sentence("partNumber={}&uploadId={}", {part.index + 1, percent_encoded(upload_id_, false)});
        part.sent.fields = {{"Content-Type", "application/octet-stream"}}; // libcurl would say that it is a form
        ZTENSOR_TRY(start(part, "PUT", part.content, *call_));
        part.is_under_way = true;
        filling_ = nullptr;
        return {};
    }

    /// Until at most `most` parts are under way.
    result<void> settle_until(size_t most) {
        while (call_->under_way() > most) {
            http_piece* const ended = call_->wait(parts_);
            if (ended == nullptr) {
                return writing_was_stopped();
            }
            s3_part& part = static_cast<s3_part&>(*ended);
            switch (transfers_.advance(part, *call_)) {
            case http_step::goes_on:
                break;
            case http_step::failed:
                return *std::move(part.failure);
            case http_step::done:
                tags_[part.index] = part.attempt.head.tag();
                if (tags_[part.index].empty()) {
                    return fail(errc::io_error, "the server does not give the ETag of a part that it has taken");
                }
                part.is_under_way = false;
                break;
            }
        }
        return {};
    }

    result<void> start(s3_part& part, const char* method, bytes_view body, http_call& call) const {
        part.reset();
        part.message = &part.sent;
        part.sent.method = method;
        part.sent.body = body;
        // TLS already protects the body, and a digest would take longer than sending it.
        part.sent.payload_sha256 = is_https_ ? string(unsigned_payload) : sha256_hex(body);
        part.attempt.patience =
            (std::max)(part.attempt.patience, static_cast<double>(body.size() / (uint64_t{16} << 20)));
        return transfers_.start(part, call);
    }

    /// One message by itself. Its answer is up to 32 KiB.
    result<void> send(s3_part& part, const char* method, bytes_view body) const {
        vector<char> room(size_t{32} << 10);
        part.attempt.room = room;
        s3_part* const only[] = {&part};
        http_call call(*client_);
        ZTENSOR_TRY(start(part, method, body, call));
        http_step step = http_step::goes_on;
        while (step == http_step::goes_on) {
            if (call.wait(span<s3_part* const>(only)) == nullptr) {
                return writing_was_stopped();
            }
            step = transfers_.advance(part, call);
        }
        reply_ = string(part.attempt.reply());
        part.attempt.room = {};
        return step == http_step::done ? result<void>() : *std::move(part.failure);
    }

    [[nodiscard]] ZTENSOR_COLD static error writing_was_stopped() {
        return fail(errc::cancelled, "the upload was stopped");
    }

    // -- messages

    /// The fields of the request that decides what the object is.
    [[nodiscard]] http_fields object_fields() const {
        http_fields fields = settings_.fields;
        if (!has_field(fields, "Content-Type")) {
            fields.emplace_back("Content-Type", "application/octet-stream");
        }
        return fields;
    }

    result<void> begin_upload() {
        s3_part part;
        part.sent.query = "uploads=";
        part.sent.fields = object_fields();
        ZTENSOR_TRY(send(part, "POST", {}));
        optional<s3_reply> reply = parse_s3_reply(reply_);
        if (!reply || reply->root != "InitiateMultipartUploadResult" || reply->upload_id.empty()) {
            return fail(errc::io_error, "the server does not answer as S3 does when an upload in parts begins");
        }
        upload_id_ = std::move(reply->upload_id);
        return {};
    }

    result<void> complete() {
        s3_part part;
        const bool is_whole = upload_id_.empty();
        const bytes_view content = filling_ != nullptr ? bytes_view(filling_->content) : bytes_view();
        string list;
        result<void> sent;
        if (is_whole) {
            part.sent.fields = object_fields();
        } else {
            if (!content.empty()) {
                ZTENSOR_TRY(send_part(*filling_));
            }
            ZTENSOR_TRY(settle_until(0));
            list = s3_parts_list(tags_);
            part.sent.query = "uploadId=" + percent_encoded(upload_id_, false);
            part.sent.fields.emplace_back("Content-Type", "application/xml");
            part.attempt.patience = 10; // S3 says that this may take minutes
        }
        if (settings_.is_create_only) {
            part.sent.fields.emplace_back("If-None-Match", "*");
        }
        sent = is_whole ? send(part, "PUT", content) : send(part, "POST", as_bytes(string_view(list)));
        if (!sent) {
            ZTENSOR_TRY(look_after_failure(part, std::move(sent).error(), content));
            is_complete_ = true;
            return {};
        }
        const optional<s3_reply> reply = parse_s3_reply(reply_);
        if (!is_whole && (!reply || reply->root != "CompleteMultipartUploadResult")) {
            return fail(errc::io_error, "the server does not answer as S3 does when an upload in parts is complete");
        }
        is_complete_ = true;
        return {};
    }

    /// The request that makes the object has failed. If S3 may have carried it out all the same, because an answer was
    /// lost on the way, it is looked whether the object is there. Errors: those of the request.
    [[nodiscard]] ZTENSOR_COLD result<void> look_after_failure(const s3_part& part, error why, bytes_view content) {
        const bool was_refused = part.attempt.failure == http_failure::none && part.attempt.head.status() < 500;
        const bool is_gone = was_refused && error_code_of(reply_) == "NoSuchUpload";
        const bool may_be_there = part.tries != 0 || !was_refused || is_gone;
        if (why.code() == errc::cancelled || why.code() == errc::out_of_memory) {
            return why;
        }
        if (may_be_there) {
            s3_part look;
            look.sent.method = "HEAD";
            const result<void> looked = send(look, "HEAD", {});
            const http_response_head& head = look.attempt.head;
            if (looked && head.content_length() == written_bytes_ && opaque_tag(head.tag()) == expected_tag(content)) {
                return {};
            }
            if (!looked && looked.error().code() != errc::file_not_found) {
                return fail(errc::io_error, "{}; whether the object is complete can't be told: {}",
                            {why.sentence(), looked.error().sentence()});
            }
            if (is_gone) {
                return fail(errc::io_error, "S3 does not know the upload any more (NoSuchUpload), and {}",
                            {looked ? "the object of this name has another size or ETag than what was written"
                                    : "there is no object of this name"});
            }
        }
        return settings_.is_create_only ? explain_conflict(part, std::move(why)) : std::move(why);
    }

    /// The ETag of an object of these parts, or of this content: MD5, unless the bucket encrypts with keys of KMS.
    [[nodiscard]] string expected_tag(bytes_view content) const {
        constexpr const char* digits = "0123456789abcdef";
        if (upload_id_.empty()) {
            return with_hex("\"", md5_of(content), digits) + '"';
        }
        vector<byte> of_parts; // what their ETags are the digits of
        for (const string& tag : tags_) {
            const string_view text = opaque_tag(tag);
            for (size_t i = 1; i + 2 < text.size(); i += 2) {
                const size_t high = string_view(digits).find(text[i]), low = string_view(digits).find(text[i + 1]);
                of_parts.push_back(static_cast<byte>((high << 4 | low) & 0xff));
            }
        }
        return with_hex("\"", md5_of(of_parts), digits) + '-' + std::to_string(tags_.size()) + '"';
    }

    [[nodiscard]] ZTENSOR_COLD static error explain_conflict(const s3_part& part, error otherwise) {
        switch (part.attempt.failure == http_failure::none ? part.attempt.head.status() : 0) {
        case 412:
            return fail(errc::io_error, part.tries == 0
                                            ? "there is an object of this name already"
                                            : "there is an object of this name already, perhaps by a try whose answer "
                                              "was lost")
                .because(std::make_error_code(std::errc::file_exists));
        case 409:
            return fail(errc::busy, "another writer makes an object of this name at the same time");
        default:
            return otherwise;
        }
    }

    result<void> abort() const {
        s3_part part;
        part.sent.query = "uploadId=" + percent_encoded(upload_id_, false);
        // A caller that destroys a sink does not want to wait, and one that has stopped the upload even less.
        part.attempt.patience = was_stopped_ ? 1.0 / (std::max)(1.0, transfers_.settings()->deadline_ms / 1000.0) : 0.1;
        return send(part, "DELETE", {});
    }

    const s3_upload_settings settings_;
    const std::shared_ptr<http_client> client_;
    const bool is_https_;
    const http_transfers transfers_;

    bool is_over_ = false;
    bool is_complete_ = false;
    bool was_stopped_ = false; ///< by the caller
    uint64_t written_bytes_ = 0;
    string upload_id_; ///< "" as long as there is none
    vector<string> tags_;
    mutable string reply_; ///< the last one to a message
    vector<std::unique_ptr<s3_part>> parts_;
    s3_part* filling_ = nullptr;
    optional<http_call> call_; ///< of the parts; goes before them
};

/// Errors: invalid_argument, out_of_memory; those of find_s3_target().
ZTENSOR_COLD inline result<std::unique_ptr<byte_sink>> open_s3_upload(s3_target target, s3_upload_settings settings) {
    ZTENSOR_TRY(begin_http(*target.settings));
    ZTENSOR_TRY(check_upload(settings));
    ZTENSOR_TRY_ASSIGN(http_url home, http_url::parse(target.url));
    return std::unique_ptr<byte_sink>(
        std::make_unique<s3_upload>(std::move(target.settings), std::move(home), std::move(settings)));
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
