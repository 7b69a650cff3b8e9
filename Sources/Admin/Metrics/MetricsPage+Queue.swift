import Operations
import Queue
import System

extension MetricsPage {
    mutating func queue(_ queue: QueueStatus, now: WallTime) {
        family("sluice_queue_admission", .gauge, "1 for the queue's answer to new batches.") {
            for admission in QueueAdmission.all where admission.isOfQueue {
                $0.add(queue.admission == admission, ["state": admission.name])
            }
        }
        let gauges: KeyValuePairs<String, (String, KeyPath<QueueStatus, Int>)> = [
            "sluice_queue_bytes": ("Queued, compressed, with the rows' own cost.", \.bytes),
            "sluice_queue_max_bytes": ("Bytes beyond which new batches are refused.", \.bytesMax),
            "sluice_queue_rows": ("Rows in the queue.", \.rows),
            "sluice_queue_streams": ("Streams with something in the queue.", \.streams),
            "sluice_queue_packets": ("Packets sealed and not yet delivered.", \.packets),
            "sluice_queue_waiting_bytes": ("Bytes that wait for a commit.", \.waitingBytes),
            "sluice_queue_recent_bytes": ("Payloads kept in memory.", \.recentBytes),
            "sluice_queue_isolations_waiting": (
                "Refused packets that wait to be taken apart.", \.isolationsWaiting
            ),
            "sluice_queue_known_requests": (
                "Requests remembered to recognise a repetition.", \.repeats.known
            ),
            "sluice_queue_database_bytes": ("The database file.", \.databaseBytes),
            "sluice_queue_log_bytes": ("The write-ahead log.", \.logBytes),
            "sluice_queue_disk_free_bytes": ("Free space beside the queue.", \.freeBytes),
            "sluice_queue_damaged_copies": ("Damaged databases kept aside.", \.damagedCopies),
            "sluice_queue_unsaved_copy_bytes": (
                "Damaged databases that may have the only copy of logs.", \.unsavedCopyBytes
            ),
            "sluice_queue_aside_logs": (
                "Logs in damaged databases that are yet to be copied.", \.asideLogs
            ),
        ]
        for (name, (help, path)) in gauges {
            family(name, .gauge, help) { $0.add(queue[keyPath: path]) }
        }
        let counters: KeyValuePairs<String, (String, KeyPath<QueueStatus, Int>)> = [
            "sluice_queue_commits_total": ("Transactions committed.", \.commits),
            "sluice_queue_checkpoints_total": (
                "Checkpoints of the write-ahead log.", \.checkpoints
            ),
            "sluice_queue_failures_total": ("Transactions that failed.", \.failures),
            "sluice_queue_salvages_total": ("Damaged databases moved aside.", \.salvages),
            "sluice_queue_salvaged_logs_total": (
                "Logs saved from damaged databases.", \.salvagedLogs
            ),
            "sluice_queue_lost_logs_total": (
                "Logs that could not be saved from damage.", \.lostLogs
            ),
            "sluice_queue_damaged_copies_removed_total": (
                "Damaged databases kept aside that were deleted.", \.damagedCopiesRemoved
            ),
            "sluice_queue_repeated_requests_total": (
                "Repeated requests, which were not stored again.", \.repeats.repeated
            ),
            "sluice_queue_forgotten_early_total": (
                "Requests forgotten before devices.duplicates.window, because of its max.",
                \.repeats.forgottenEarly
            ),
            "sluice_queue_ledger_imbalances_total": (
                "Times that a ledger did not agree with the queue.", \.ledgerImbalances
            ),
            "sluice_queue_isolations_total": (
                "Refused packets that were taken apart.", \.isolations
            ),
            "sluice_queue_relanes_total": (
                "Packets that got another lane, because SLS had seen their number.", \.relanes
            ),
            "sluice_queue_repaired_logs_total": (
                "Logs by which ledgers were corrected at a start.", \.repairedLogs
            ),
        ]
        for (name, (help, path)) in counters {
            family(name, .counter, help) { $0.add(queue[keyPath: path]) }
        }
        family(
            "sluice_queue_streams_refused_total",
            .counter,
            "Requests refused because a share of streams was used up, by share."
        ) {
            $0.add(queue.streamRefusals.queue, ["share": "queue"])
            $0.add(queue.streamRefusals.destination, ["share": "destination"])
            $0.add(queue.streamRefusals.sender, ["share": "key"])
        }
        family("sluice_queue_commit_seconds_total", .counter, "Time spent in commits.") {
            $0.add(seconds: queue.commitTime)
        }
        family("sluice_queue_commit_seconds_max", .gauge, "The longest commit so far.") {
            $0.add(seconds: queue.commitTimeMax)
        }
    }
}
