// SPDX-License-Identifier: MIT
//
// What a failure half-way does to a writer. SPEC.md section 10.
#ifndef ZTENSOR_DETAIL_WRITE_BREAKING_UNLESS_DONE_HPP
#define ZTENSOR_DETAIL_WRITE_BREAKING_UNLESS_DONE_HPP

#include <ztensor/version.hpp>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Stands around whatever puts bytes into a writer's file: if that fails, the writer breaks off; also if memory runs
/// out, or if a sink or source of the caller's own throws.
template <class Writer>
class breaking_unless_done {
public:
    explicit breaking_unless_done(Writer& writer) noexcept : writer_(&writer) {}
    breaking_unless_done(const breaking_unless_done&) = delete;
    breaking_unless_done& operator=(const breaking_unless_done&) = delete;
    ~breaking_unless_done() {
        if (writer_ != nullptr) {
            writer_->break_off();
        }
    }

    /// What came of the writing.
    template <class Outcome>
    [[nodiscard]] Outcome done(Outcome outcome) const {
        if (outcome) {
            writer_ = nullptr;
        }
        return outcome;
    }

private:
    mutable Writer* writer_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
