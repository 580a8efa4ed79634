// SPDX-License-Identifier: MIT
//
// What an error holds, and how its message is put together. Defines what error.hpp declares.
#ifndef ZTENSOR_DETAIL_BASE_ERROR_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_BASE_ERROR_DEFINITIONS_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/error.hpp>

#include <atomic>
#include <new>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Who broke the rule, where the kind of its code says another. Looked up only when somebody asks, so that most
/// programs hold no table of kinds.
enum class blame : uint8_t { by_code, caller, file };

/// Never changed while more than one error shares it.
struct error_details {
    errc code = errc::io_error;
    blame to = blame::by_code;
    string path;
    string object;
    string component;
    string sentence;
    string what;
    optional<uint64_t> offset;
    std::error_code os_error;
    std::atomic<size_t> owners{1};

    ZTENSOR_COLD error_details(errc broken_rule, string text)
        : code(broken_rule), sentence(in_one_line(std::move(text))), what(sentence) {}
    ZTENSOR_COLD error_details(const error_details& other)
        : code(other.code), to(other.to), path(other.path), object(other.object), component(other.component),
          sentence(other.sentence), what(other.what), offset(other.offset), os_error(other.os_error) {}
};

/// Takes no memory: text so short stands in the strings themselves. It holds a count of its own, so that it is never
/// deleted.
[[nodiscard]] ZTENSOR_COLD inline error_details* memory_ran_out() noexcept {
    static never_destroyed<error_details> told(errc::out_of_memory, "memory ran out");
    ++told.get().owners;
    return &told.get();
}

[[nodiscard]] ZTENSOR_COLD inline string compose(const error_details& d) {
    string what;
    if (!d.path.empty()) {
        what = in_one_line(d.path) + ": ";
    }
    if (!d.object.empty() && d.code != errc::object_not_found) { // whose sentence is about the name
        what += sentence("object {}{}", {in_quotes(d.object), d.component.empty() ? ": " : ", "});
    }
    if (!d.component.empty()) {
        what += sentence("component {}: ", {in_quotes(d.component)});
    }
    what += d.sentence;
    if (d.offset) {
        what += sentence(" (at byte {})", {*d.offset});
    }
    if (d.os_error) {
        what += ": " + d.os_error.message();
    }
    return what;
}

/// What an error is to say besides what it says already.
struct addition {
    string error_details::*place = nullptr;
    string_view text;
    optional<uint64_t> offset;
    std::error_code os_error;
    blame to = blame::by_code;
};

/// Says more, in details of our own: another error may share those in `mine`. A place that is said is kept.
ZTENSOR_COLD inline void add_to(error_details*& mine, const addition& more) {
    if (more.place != nullptr && (more.text.empty() || !(mine->*more.place).empty())) {
        return;
    }
    if (mine->owners.load(std::memory_order_acquire) != 1) {
        error_details* const shared = std::exchange(mine, new error_details(*mine));
        if (shared->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            delete shared;
        }
    }
    if (more.place != nullptr) {
        (mine->*more.place).assign(more.text.data(), more.text.size());
    } else if (more.to != blame::by_code) {
        mine->to = more.to;
    } else if (more.offset) {
        mine->offset = mine->offset ? mine->offset : more.offset;
    } else {
        mine->os_error = more.os_error;
    }
    mine->what = compose(*mine);
}

/// The same; where memory runs out, the error stays as it was.
ZTENSOR_COLD inline void try_to_add(error_details*& mine, const addition& more) noexcept {
#if ZTENSOR_HAS_EXCEPTIONS
    try {
        add_to(mine, more);
    } catch (...) { // copying text throws nothing but for want of memory
    }
#else
    add_to(mine, more);
#endif
}

[[nodiscard]] ZTENSOR_COLD inline error_details* new_details(errc code, string& sentence) noexcept {
#if ZTENSOR_HAS_EXCEPTIONS
    try {
        return new error_details(code, std::move(sentence));
    } catch (...) {
        return memory_ran_out();
    }
#else
    return new error_details(code, std::move(sentence));
#endif
}

} // namespace detail

ZTENSOR_COLD ZTENSOR_INLINE error::error(errc code, std::string sentence) noexcept
    : details_(detail::new_details(code, sentence)) {
}

ZTENSOR_INLINE error::error(const error& other) noexcept : details_(other.details_) {
    if (details_ != nullptr) {
        details_->owners.fetch_add(1, std::memory_order_relaxed);
    }
}

ZTENSOR_COLD ZTENSOR_INLINE void error::release() noexcept {
    if (details_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        delete details_;
    }
}

ZTENSOR_INLINE errc error::code() const noexcept {
    return details_->code;
}
ZTENSOR_INLINE error_kind error::kind() const noexcept {
    const error_kind by_code = ZTENSOR_MODE::kind(details_->code);
    if (details_->to == detail::blame::caller && by_code == error_kind::invalid_file) {
        return error_kind::usage;
    }
    return details_->to == detail::blame::file && by_code == error_kind::usage ? error_kind::invalid_file : by_code;
}
ZTENSOR_INLINE const std::string& error::path() const& noexcept {
    return details_->path;
}
ZTENSOR_INLINE const std::string& error::object() const& noexcept {
    return details_->object;
}
ZTENSOR_INLINE const std::string& error::component() const& noexcept {
    return details_->component;
}
ZTENSOR_INLINE std::optional<std::uint64_t> error::offset() const noexcept {
    return details_->offset;
}
ZTENSOR_INLINE std::error_code error::os_error() const noexcept {
    return details_->os_error;
}
ZTENSOR_INLINE const std::string& error::sentence() const& noexcept {
    return details_->sentence;
}
ZTENSOR_INLINE const std::string& error::what() const& noexcept {
    return details_->what;
}

ZTENSOR_INLINE error error::in_file(std::string_view path) && noexcept {
    detail::try_to_add(details_, {&detail::error_details::path, path, {}, {}});
    return std::move(*this);
}
ZTENSOR_INLINE error error::in_object(std::string_view name) && noexcept {
    detail::try_to_add(details_, {&detail::error_details::object, name, {}, {}});
    return std::move(*this);
}
ZTENSOR_INLINE error error::in_component(std::string_view role) && noexcept {
    detail::try_to_add(details_, {&detail::error_details::component, role, {}, {}});
    return std::move(*this);
}
ZTENSOR_INLINE error error::at(std::uint64_t offset) && noexcept {
    detail::try_to_add(details_, {nullptr, {}, offset, {}});
    return std::move(*this);
}
ZTENSOR_INLINE error error::because(std::error_code os_error) && noexcept {
    detail::try_to_add(details_, {nullptr, {}, {}, os_error});
    return std::move(*this);
}

ZTENSOR_INLINE error error::by_caller() && noexcept {
    detail::try_to_add(details_, {nullptr, {}, {}, {}, detail::blame::caller});
    return std::move(*this);
}
ZTENSOR_INLINE error error::by_file() && noexcept {
    detail::try_to_add(details_, {nullptr, {}, {}, {}, detail::blame::file});
    return std::move(*this);
}

ZTENSOR_INLINE const std::error_category& category() noexcept {
    static const detail::never_destroyed<errc_category> only;
    return only.get();
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
