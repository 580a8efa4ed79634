// SPDX-License-Identifier: MIT
//
// What calls have to say of a file beside errors: what lint() finds odd, what an importer left out, what recover() did.
#ifndef ZTENSOR_FINDINGS_HPP
#define ZTENSOR_FINDINGS_HPP

#include <ztensor/fwd.hpp>
#include <ztensor/version.hpp>

#include <cstdint>
#include <string>

namespace ztensor {
inline namespace ZTENSOR_MODE {

/// What recover() found.
enum class recovery : std::uint8_t {
    not_needed, ///< no undo record, or one of a change that had not begun
    kept_new,   ///< the change was complete: the file is as it was to become
    undone,     ///< the file is as it was before the change
};

/// One item of reader::skipped(). All text is UTF-8: of a name that is not, a backslash, an x and two hexadecimal
/// digits stand for each byte beyond ASCII.
struct skipped_item {
    std::string name;  ///< what the file calls it, as an object would be called: of HDF5 the path
    std::string where; ///< what it lies in or belongs to, such as a graph or an entry; "" for the file itself
    std::string why;   ///< why it is no object here: a sentence without a full stop
};

/// What lint() finds. Those marked strict are refused by read_options::strict(), each with its code.
enum class lint_kind : std::uint8_t {
    non_canonical_cbor, ///< strict_encoding: a head longer than need be, or an indefinite length
    unsorted_names,     ///< strict_order: objects, components or attribute keys, not sorted by their bytes
    unreferenced_bytes, ///< strict_gap: more bytes than padding takes that no blob covers: an old state, or hidden data
    nonzero_padding,    ///< strict_gap: padding that is not zero
    shared_blob,        ///< strict_alias: two components with the same bytes
    zip_end_record,     ///< a ZIP end record near the end: ZIP tools and PyTorch take the file for an archive
    lookalike_names,    ///< names that differ only in case, spaces, invisible or alike characters, or hold such
    missing_digest,     ///< components that can't be verified
};

struct lint_finding {
    lint_kind kind;
    std::string object;    ///< name of the object concerned, as it stands in the file (hostile text); "" for none
    std::string component; ///< role of the component concerned, likewise
    std::string sentence;  ///< in one line, safe to print: text from the file is escaped and cut
};

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
