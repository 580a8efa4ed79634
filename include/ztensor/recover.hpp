// SPDX-License-Identifier: MIT
//
// After a crash: what a change in place has left half done, and files that were not finished. SPEC.md section 10.
#ifndef ZTENSOR_RECOVER_HPP
#define ZTENSOR_RECOVER_HPP

#include <ztensor/file_path.hpp>
#include <ztensor/recovery.hpp>
#include <ztensor/result.hpp>

#include <cstddef>
#include <cstdint>

namespace ztensor {
inline namespace ZTENSOR_MODE {

/// Brings back the last complete state of a file that a writer or an editor in place (publish_mode::in_place) was
/// changing when its process or the machine stopped: the state before, or the one after if the change was complete.
/// Uses the undo record beside the file, and removes it. May itself be stopped at any moment, and be called again; of a
/// file that needs it not, it touches nothing.
///
/// The file is known by its content: while it is changed it holds a mark that the record knows. So a folder may be
/// copied first, file and record together; and a file that was put in the place of the changed one is left as it is.
/// It does not search: a file that only looks as if it were cut off stays as it is, too. After publish_mode::in_place
/// of a writer that creates a file there is nothing to bring back.
///
/// Errors: busy (the writer is alive); undo_record_refused (the file is neither in the state before nor in the one
/// after the change nor between them; or the record is damaged, of an earlier release, or may come from somebody who
/// does not own the file: it has to be the owner's, root's or the caller's own. File and record are left alone. If the
/// file is as it should be, remove the record); invalid_argument, io_error, out_of_memory; and where there is a record,
/// file_not_found and not_regular_file: without one nothing is looked at.
result<recovery> recover(const file_path& path);

/// Whether an undo record lies beside the file: a writer or an editor in place is at work on it, or was broken off.
/// Errors: invalid_argument, io_error, out_of_memory.
result<bool> has_undo_record(const file_path& path);

/// Removes the temporary files `.ztensor-<16 hex digits>.tmp` in a directory whose processes are gone, and gives how
/// many. One that is being written is locked, and stays; where the file system has no locks, all of them stay. Some
/// file systems keep locks to each host (NFS with `nolock`, CIFS, Lustre with `localflock`, some of FUSE), where a
/// writer on another host is not seen: so files stay, too, that were written to within the last `least_age_seconds`, a
/// day unless told otherwise. 0 is for where no other host writes. Undo records (`.ztensor-<16 hex digits>.undo`) stay:
/// they are needed, and recover() removes them.
///
/// Errors: io_error, of the first file that can't be removed, when all others have been; invalid_argument;
/// out_of_memory.
result<std::size_t> remove_abandoned(const file_path& directory, std::uint64_t least_age_seconds = 86'400);

} // namespace ZTENSOR_MODE
} // namespace ztensor

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/write/edit_definitions.hpp>
#endif

#endif
