import Operations
import Queue

/// Figures of the shards of a gateway in a cluster. Without a cluster there are none.
enum FleetFigures {
    static let parts: [any FigurePart] = [fleet, shards]

    static let fleet = FigureGroup<FleetStatus>(
        .cluster,
        by: [],
        { report in report.queue.fleet.map { [([], $0)] } ?? [] },
        [
            Figure("sluice_fleet_other_gateways", "Other gateways of the cluster that live.") {
                fleet,
                _ in
                fleet.others.count { $0.isAlive }
            },
            Figure(
                "sluice_fleet_cluster_shards",
                \.shardsOfCluster,
                "Shards that the cluster has, those without a gateway among them.",
                member: "cluster_shards"
            ),
            Figure(
                "sluice_fleet_orphans",
                \.orphans.count,
                "Shards of the cluster whose gateway is gone, and that none is adopting yet."
            ),
            Figure(
                "sluice_fleet_refused_orphans",
                \.refusedOrphans.count,
                "Shards without a gateway that this one cannot adopt; the status has the reasons."
            ),
            Figure("sluice_fleet_adopting", "1 while a shard is read to adopt it.") { fleet, _ in
                fleet.adopting != nil
            },
            Figure(
                "sluice_fleet_adoptions_total",
                \.adoptions,
                "Shards that this gateway has adopted.",
                member: "adoptions"
            ),
            Figure(
                "sluice_fleet_absorptions_total",
                \.absorptions,
                "Shards that were emptied and became a part of another one.",
                member: "absorptions"
            ),
            Figure(
                "sluice_fleet_losses_total",
                \.losses,
                "Shards of this gateway that another one has taken.",
                member: "losses"
            ),
            Figure(
                "sluice_fleet_late_acknowledgements_total",
                \.lateAcknowledgements,
                "Packets that were stored when another gateway had their shard already, and so perhaps twice.",
                member: "late_acknowledgements"
            ),
            Figure(
                "sluice_fleet_known_repeats",
                \.messages.knownRepeats,
                "Requests of other gateways that this one remembers, to recognise their repetition.",
                member: "known_repeats"
            ),
            Figure(
                "sluice_fleet_recognised_repeats_total",
                \.messages.recognisedRepeats,
                "Repeated requests that got the answer that another gateway had given.",
                member: "recognised_repeats"
            ),
            Figure(
                "sluice_fleet_untold_repeats_total",
                \.messages.untoldRepeats,
                "Requests that the other gateways could not be told of, so that they would store a repetition.",
                member: "untold_repeats"
            ),
        ]
    )

    static let shards = FigureGroup<FleetStatus.Shard>(
        .cluster,
        by: ["shard", "role"],
        { report in
            (report.queue.fleet?.shards ?? []).map { ([$0.name, $0.role.rawValue], $0) }
        },
        [
            Figure("sluice_shard_up", "1 while the shard can be written.") { shard, _ in
                shard.problem == nil
            },
            Figure(
                "sluice_shard_queued_logs",
                \.queued,
                "Logs that wait in a shard of this gateway.",
                member: "queued"
            ),
            Figure(
                "sluice_shard_bytes",
                \.bytes,
                "Bytes that wait in a shard, with the rows' overhead.",
                member: "bytes"
            ),
            Figure(
                "sluice_shard_epoch",
                \.log.epoch,
                "How often a gateway has begun to write the shard's log.",
                member: "epoch"
            ),
            Figure(
                "sluice_shard_log_bytes",
                \.log.bytes,
                "Bytes of the shard's commit log, about.",
                member: "log_bytes"
            ),
        ]
    )
}
