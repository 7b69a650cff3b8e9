import Operations
import Queue

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
