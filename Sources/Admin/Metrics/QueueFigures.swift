import Operations
import Queue
import System

enum QueueFigures {
    static let parts: [any FigurePart] = [
        queue, commitLog, intake, ledger, volumes, backlog, leaving, losses,
    ]

    /// Without a commit log there are none.
    static let commitLog = FigureGroup<CommitLogStatus>(.cluster, by: []) { report in
        report.queue.commitLog.map { [([], $0)] } ?? []
    }.table([
        Figure("sluice_commit_log_epoch", \.epoch, member: "epoch"):
            "How often a gateway has begun to write the log: starts, and ends of outages.",
        Figure("sluice_commit_log_entry", \.entry, member: "entry"):
            "Number of the commit log's last entry.",
        Figure("sluice_commit_log_bytes", \.bytes, member: "bytes"):
            "Bytes of the commit log, about: bases and commits.",
        Figure("sluice_commit_log_bytes_since_base", \.bytesSinceBase, member: "bytes_since_base"):
            "Bytes of commits since the last base; a start reads at least as much.",
        Figure("sluice_commit_log_retries_total", \.retries, member: "retries"):
            "Appends to the commit log that were tried again.",
    ])

    static let queue = FigureGroup<QueueStatus>(.queue, \.queue).table([
        Figure("sluice_queue_admission", by: "state") { queue in
            QueueAdmission.all.filter(\.isOfQueue).map { ($0.name, queue.admission == $0) }
        }: "1 for the queue's answer to new batches.",
        Figure("sluice_queue_bytes", \.bytes, member: "bytes"):
            "Bytes in the queue: compressed payloads and the rows' overhead.",
        Figure("sluice_queue_max_bytes", \.bytesMax, member: "bytes_max"):
            "Bytes beyond which new batches are refused.",
        Figure("sluice_queue_rows", \.rows, member: "rows"): "Rows in the queue.",
        Figure("sluice_queue_streams", \.streams, member: "streams"):
            "Streams with something in the queue.",
        Figure("sluice_queue_packets", \.packets, member: "packets"):
            "Packets sealed and not yet delivered.",
        Figure("sluice_queue_waiting_bytes", \.waitingBytes): "Bytes that wait for a commit.",
        Figure("sluice_queue_recent_bytes", \.recentBytes):
            "Bytes of recent payloads kept in memory.",
        Figure(
            "sluice_queue_isolations_waiting",
            \.isolationsWaiting,
            member: "isolations_waiting"
        ): "Refused packets that wait for the isolation of their bad logs.",
        Figure("sluice_queue_known_requests", \.repeats.known, member: "duplicates.known"):
            "Requests remembered to recognise a repetition.",
        Figure("sluice_queue_database_bytes", \.databaseBytes, member: "database_bytes"):
            "Bytes of the database file.",
        Figure("sluice_queue_log_bytes", \.logBytes, member: "log_bytes"):
            "Bytes of the write-ahead log.",
        Figure("sluice_queue_disk_free_bytes", \.freeBytes, member: "disk_free_bytes"):
            "Free bytes on the queue's disk.",
        Figure("sluice_queue_damaged_copies", \.damagedCopies): "Damaged databases kept aside.",
        Figure("sluice_queue_unsaved_copy_bytes", \.unsavedCopyBytes):
            "Bytes of damaged databases that may have the only copy of logs.",
        Figure("sluice_queue_aside_logs", \.asideLogs):
            "Logs in damaged databases that are yet to be copied.",
        Figure("sluice_queue_commits_total", \.commits.count, member: "commits"):
            "Transactions committed.",
        Figure("sluice_queue_commit_starts_total", by: "reason") { $0.commits.byReason.named }:
            "Transactions committed, by the reason that ended the wait for more requests.",
        Figure("sluice_queue_committed_requests_total", \.commits.requests):
            "Requests that transactions answered.",
        Figure("sluice_queue_committed_rows_total", \.commits.rows):
            "Rows that transactions stored; requests share a row of up to 64 KiB.",
        Figure("sluice_queue_checkpoints_total", \.checkpoints):
            "Checkpoints of the write-ahead log.",
        Figure("sluice_queue_failures_total", \.failures): "Transactions that failed.",
        Figure("sluice_queue_salvages_total", \.salvages): "Damaged databases moved aside.",
        Figure("sluice_queue_salvaged_logs_total", \.salvagedLogs):
            "Logs saved from damaged databases.",
        Figure("sluice_queue_lost_logs_total", \.lostLogs):
            "Logs that could not be saved from damage.",
        Figure("sluice_queue_damaged_copies_removed_total", \.damagedCopiesRemoved):
            "Damaged databases kept aside that were deleted.",
        Figure(
            "sluice_queue_repeated_requests_total",
            \.repeats.repeated,
            member: "duplicates.repeated"
        ): "Repeated requests, which were not stored again.",
        Figure(
            "sluice_queue_forgotten_early_total",
            \.repeats.forgottenEarly,
            member: "duplicates.forgotten_early"
        ): "Requests forgotten before devices.duplicates.window, because of its max.",
        Figure("sluice_queue_ledger_imbalances_total", \.ledgerImbalances):
            "Times that a ledger did not agree with the queue.",
        Figure("sluice_queue_isolations_total", \.isolations, member: "isolations"):
            "Refused packets that were split to isolate their bad logs.",
        Figure("sluice_queue_relanes_total", \.relanes):
            "Packets that got another lane, because SLS had seen their number.",
        Figure("sluice_queue_repaired_logs_total", \.repairedLogs):
            "Logs by which ledgers were corrected at a start.",
        Figure("sluice_queue_streams_refused_total", by: "share") {
            [
                ("queue", $0.streamRefusals.queue), ("destination", $0.streamRefusals.destination),
                ("key", $0.streamRefusals.sender),
            ]
        }: "Requests refused because a share of streams was used up, by share.",
        Figure("sluice_queue_commit_seconds_total", \.commits.time): "Time spent in commits.",
        Figure("sluice_queue_commit_seconds_max", \.commits.timeMax): "The longest commit so far.",
    ])

    static let intake = FigureGroup<IntakeTally>(.ledger, \.queue.intake).table([
        Figure("sluice_intake_logs_total", by: "outcome") {
            [
                ("received", $0.received), ("filtered", $0.filtered), ("dropped", $0.dropped),
                ("routed", $0.routed),
            ]
        }:
            "Logs of stored requests since the queue exists: received = filtered + dropped + routed.",
        Figure("sluice_intake_copies_total", \.copies):
            "Copies of routed logs, one for each destination: accepted + skipped of all destinations.",
    ])

    /// Also of destinations that the configuration no longer has: the ledger counts for ever.
    static let ledger = FigureGroup<Ledger>(.ledger, by: ["destination"]) { report in
        report.destinations.map { ([$0.name], $0.queue.ledger) }
            + report.strangers.sorted { $0.key < $1.key }.map { ([$0.key], $0.value) }
    }.table([
        Figure("sluice_logs_accepted_total", \.accepted): "Logs accepted since the queue exists.",
        Figure("sluice_logs_delivered_total", \.delivered): "Logs stored at the destination.",
        Figure("sluice_logs_expired_total", \.expired):
            "Logs and dead letters dropped because of their age, or to make room for others.",
        Figure("sluice_logs_discarded_total", \.discarded):
            "Logs dropped by an operator or a setting.",
        Figure("sluice_logs_skipped_total", \.skipped):
            "Logs not accepted, because a destination with required: false had no room.",
        Figure("sluice_logs_queued", \.queued): "Logs that wait for delivery.",
        Figure("sluice_logs_dead", \.dead): "Logs that cannot be delivered as they are.",
    ])

    /// Since the start, in bytes of logs before compression.
    private static let volumes = FigureGroup<Volumes>(.ledger, by: ["destination"]) {
        $0.destinations.map { ([$0.name], $0.queue.volumes) }
    }.table([
        Figure("sluice_accepted_bytes_total", \.accepted):
            "Bytes of accepted logs, before compression.",
        Figure("sluice_delivered_bytes_total", \.delivered):
            "Bytes of logs stored at the destination, before compression.",
        Figure("sluice_dead_bytes_total", \.dead):
            "Bytes of logs that became dead letters, before compression.",
        Figure("sluice_expired_bytes_total", \.expired):
            "Bytes of expired logs, before compression.",
        Figure("sluice_discarded_bytes_total", \.discarded):
            "Bytes of discarded logs, except logs dropped on arrival.",
        Figure("sluice_logs_died_total", \.died): "Logs that became dead letters since the start.",
    ])

    /// What waits for a destination, and what may.
    static let backlog = FigureGroup<QueueStatus.Destination>(.destinations, by: ["destination"]) {
        $0.destinations.map { ([$0.name], $0.queue) }
    }.table([
        Figure("sluice_destination_admission", by: "state") { destination in
            QueueAdmission.all.map { ($0.name, destination.admission == $0) }
        }: "1 for the destination's present answer to new batches.",
        Figure("sluice_destination_bytes", \.bytes, member: "bytes"):
            "Bytes queued for a destination, with the rows' overhead.",
        Figure("sluice_destination_packets", \.packets, member: "packets"):
            "Packets sealed and not yet delivered.",
        Figure("sluice_destination_lanes", \.lanes, member: "lanes"):
            "Lanes of each logstore; 0 delivers at least once.",
        Figure("sluice_destination_logstores", \.logstores, member: "logstores"):
            "Logstores that have logs in the queue.",
        Figure("sluice_destination_max_logstores", \.logstoresMax, member: "logstores_max"):
            "Logstores that may have logs; batches for others are refused.",
        Figure("sluice_destination_max_bytes", member: "bytes_max") { destination, _ in
            destination.bytesMax
        }: "Bytes beyond which a destination's batches are refused, if it has a bound.",
        Figure("sluice_destination_dead_bytes", \.deadBytes, member: "dead_bytes"):
            "Bytes of a destination's dead letters.",
    ])

    private static let leaving = FigureGroup<GatewayReport.Destination>(
        .destinations,
        by: ["destination"]
    ) { $0.destinations.map { ([$0.name], $0) } }.table([
        Figure("sluice_destination_leaving") { destination, _ in destination.isRemoved }:
            "1 while a destination that was removed from the configuration delivers its last logs."
    ])

    /// What the ledger counts under another name, and whether it adds up.
    static let losses = FigureGroup<QueueStatus.Destination>(.ledger, by: ["destination"]) {
        $0.destinations.map { ([$0.name], $0.queue) }
    }.table([
        Figure("sluice_logs_dropped_total", \.dropped, member: "dropped_logs"):
            "Logs that made room for others since the start; they are among the expired.",
        Figure("sluice_logs_refused_total", \.refusedLogs, member: "refused_logs"):
            "Logs of refused packets that were dropped as configured; they are among the discarded.",
        Figure("sluice_ledger_imbalance_logs", \.imbalance):
            "Logs by which the ledger is out of balance; must be 0.",
    ])
}

/// Figures of the shards of a gateway in a cluster. Without a cluster there are none.
enum FleetFigures {
    static let parts: [any FigurePart] = [fleet, shards]

    static let fleet = FigureGroup<FleetStatus>(.cluster, by: []) { report in
        report.queue.fleet.map { [([], $0)] } ?? []
    }.table([
        Figure("sluice_fleet_other_gateways") { fleet, _ in fleet.others.count { $0.isAlive } }:
            "Other gateways of the cluster that live.",
        Figure("sluice_fleet_cluster_shards", \.shardsOfCluster, member: "cluster_shards"):
            "Shards that the cluster has, those without a gateway among them.",
        Figure("sluice_fleet_orphans", \.orphans.count):
            "Shards of the cluster whose gateway is gone, and that none is adopting yet.",
        Figure("sluice_fleet_refused_orphans", \.refusedOrphans.count):
            "Shards without a gateway that this one cannot adopt; the status has the reasons.",
        Figure("sluice_fleet_adopting") { fleet, _ in fleet.adopting != nil }:
            "1 while a shard is read to adopt it.",
        Figure("sluice_fleet_adoptions_total", \.adoptions, member: "adoptions"):
            "Shards that this gateway has adopted.",
        Figure("sluice_fleet_absorptions_total", \.absorptions, member: "absorptions"):
            "Shards that were emptied and became a part of another one.",
        Figure("sluice_fleet_losses_total", \.losses, member: "losses"):
            "Shards of this gateway that another one has taken.",
        Figure("sluice_fleet_replacements_total", \.replacements, member: "replacements"):
            "Home shards that could not be written, and in whose place this gateway began others.",
        Figure(
            "sluice_fleet_late_acknowledgements_total",
            \.lateAcknowledgements,
            member: "late_acknowledgements"
        ):
            "Packets that were stored when another gateway had their shard already, and so perhaps twice.",
        Figure("sluice_fleet_known_repeats", \.messages.knownRepeats, member: "known_repeats"):
            "Requests of other gateways that this one remembers, to recognise their repetition.",
        Figure(
            "sluice_fleet_recognised_repeats_total",
            \.messages.recognisedRepeats,
            member: "recognised_repeats"
        ): "Repeated requests that got the answer that another gateway had given.",
        Figure(
            "sluice_fleet_untold_repeats_total",
            \.messages.untoldRepeats,
            member: "untold_repeats"
        ):
            "Requests that the other gateways could not be told of, so that they would store a repetition.",
    ])

    static let shards = FigureGroup<FleetStatus.Shard>(.cluster, by: ["shard", "role"]) { report in
        (report.queue.fleet?.shards ?? []).map { ([$0.name, $0.role.rawValue], $0) }
    }.table([
        Figure("sluice_shard_up") { shard, _ in shard.problem == nil }:
            "1 while the shard can be written.",
        Figure("sluice_shard_queued_logs", \.queued, member: "queued"):
            "Logs that wait in a shard of this gateway.",
        Figure("sluice_shard_bytes", \.bytes, member: "bytes"):
            "Bytes that wait in a shard, with the rows' overhead.",
        Figure("sluice_shard_epoch", \.log.epoch, member: "epoch"):
            "How often a gateway has begun to write the shard's log.",
        Figure("sluice_shard_log_bytes", \.log.bytes, member: "log_bytes"):
            "Bytes of the shard's commit log, about.",
    ])
}
