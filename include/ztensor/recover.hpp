// SPDX-License-Identifier: MIT
//
// After a crash: what a change in place has left half done, and files that nobody finished. SPEC.md section 10.
#ifndef ZTENSOR_RECOVER_HPP
#define ZTENSOR_RECOVER_HPP

#include <ztensor/file_path.hpp>
#include <ztensor/recovery.hpp>
#include <ztensor/result.hpp>

#include <cstddef>

namespace ztensor {
inline namespace ZTENSOR_MODE {

/// Brings back the last complete state of a file that a writer or an editor in place (publish_mode::in_place) was
/// changing when its process or the machine stopped: the state before, or the one after if the change was complete.
/// Uses the undo record beside the file, and removes it. May itself be stopped at any moment, and be called again; of a
/// file that needs it not, it touches nothing.
///
/// It does not search: a file that only looks as if it were cut off stays as it is. After publish_mode::in_place of a
/// writer that creates a file there is nothing to bring back.
///
/// Errors: busy (the writer is alive); file_changed (the file is not the one that the record is about, or the record is
/// damaged and the file can't be read either, or it belongs to a user who may not write the file, and so need not be
/// ours: both are left alone); invalid_argument, io_error, out_of_memory; and where there is a record, file_not_found
/// and not_regular_file: without one nothing is looked at.
[[nodiscard]] result<recovery> recover(const file_path& path);

/// Removes the temporary files `.ztensor-<16 hex digits>.tmp` in a directory whose processes are gone, and gives how
/// many. One that is being written is locked, and stays; where the file system has no locks, all of them stay. Undo
/// records (`.ztensor-<16 hex digits>.undo`) stay too: they are needed, and recover() removes them.
///
/// Errors: io_error, of the first file that can't be removed, when all others have been; invalid_argument;
/// out_of_memory.
[[nodiscard]] result<std::size_t> remove_abandoned(const file_path& directory);

} // namespace ZTENSOR_MODE
} // namespace ztensor

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/edit/recover_definitions.hpp>
#endif

#endif
