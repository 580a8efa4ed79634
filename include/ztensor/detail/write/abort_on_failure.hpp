// SPDX-License-Identifier: MIT
//
// What a failure half-way does to a writer. SPEC.md section 10.
#ifndef ZTENSOR_DETAIL_WRITE_ABORT_ON_FAILURE_HPP
#define ZTENSOR_DETAIL_WRITE_ABORT_ON_FAILURE_HPP

#include <ztensor/version.hpp>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Stands around whatever puts bytes into a writer's file: if that fails, the writer breaks off; also if memory runs
/// out, or if a sink or source of the caller's own throws.
template <class Writer>
class abort_on_failure {
public:
    explicit abort_on_failure(Writer& writer) noexcept : writer_(&writer) {}
    abort_on_failure(const abort_on_failure&) = delete;
    abort_on_failure& operator=(const abort_on_failure&) = delete;
    ~abort_on_failure() {
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
