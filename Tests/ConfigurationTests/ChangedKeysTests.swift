import Configuration
import TestConfiguration
import TestSupport
import Testing

/// Of every key that the reader knows: what a reload says when it changes.
@Suite struct ChangedKeysTests {
    /// A value that is not the default.
    private static let others: [String: String] = [
        "listen": "127.0.0.1:9", "admin.listen": "127.0.0.1:9",
        "admin.token": "0123456789abcdef0123456789abcdef", "data_dir": "/tmp/other",
        "admin.tokens": "{grafana: {token: 0123456789abcdef0123456789abcdef, role: read}}",
        "admin.tls.certificate": "/other.pem", "admin.tls.key": "/other.key",
        "admin.tls.certificates": "[{certificate: /other.pem, key: /other.key}]",
        "admin.tls.client_ca": "/other.pem",
        "admin.tls.client_certificates": "optional", "admin.tls.minimum_version": "1.3",
        "admin.tls.client_crl": "/other.crl", "admin.tls.deny": "\"dns:lost\"",
        "tls.client_crl": "/other.crl", "tls.deny": "\"dns:lost\"",
        "tls.listen": "127.0.0.1:9", "tls.certificate": "/other.pem", "tls.key": "/other.key",
        "tls.certificates": "[{certificate: /other.pem, key: /other.key}]",
        "tls.client_ca": "/other.pem", "tls.client_certificates": "optional",
        "tls.minimum_version": "1.3",
        "admin.console": "false", "admin.hosts": "gateway.example.com",
        "admin.client.ca": "/ca.pem", "admin.client.certificate": "/c.pem",
        "admin.client.key": "/c.key",
        "drain_timeout": "1s", "devices.plain_status": "201", "filters_headers": "[x-app]",
        "queue.max_bytes": "1GiB", "queue.max_age": "1d", "queue.overflow": "drop_oldest",
        "queue.fresh_first": "10%", "queue.dead_letter_age": "1d", "queue.max_streams": "5",
        "queue.durability": "normal",
        "queue.min_free_bytes": "1MiB",
        "queue.engine": "jetstream, jetstream: {servers: \"nats://n1\"}", "queue.commit_wait": "9s",
        "queue.jetstream.servers": "[\"nats://n1\", \"tls://n2\"]",
        "queue.jetstream.cluster": "other", "queue.jetstream.node": "other",
        "queue.jetstream.replicas": "5", "queue.jetstream.weaken": "true",
        "queue.jetstream.credentials": "/other.creds",
        "queue.jetstream.nkey": "/other.nkey", "queue.jetstream.token": "other",
        "queue.jetstream.user": "other", "queue.jetstream.password": "other",
        "queue.jetstream.tls.ca_file": "/other.pem",
        "queue.jetstream.tls.certificate": "/other.pem", "queue.jetstream.tls.key": "/other.key",
        "queue.postgresql.url": "\"postgresql://joe:other@db1/logs\"",
        "queue.postgresql.cluster": "other", "queue.postgresql.node": "other",
        "queue.postgresql.copies": "storage",
        "devices.keys": "[{name: phone, key: 0123456789abcdef}]",
        "devices.jwt.algorithm":
            "HS256, keys: [{kid: a, secret: 0123456789abcdef0123456789abcdef}]",
        "devices.jwt.issuer": "joe",
        "devices.jwt.keys": "[{kid: b, secret: 0123456789abcdef0123456789abcdef}]",
        "devices.jwt.audience": "logs", "devices.jwt.leeway": "9s",
        "devices.jwt.destinations_claim": "to",
        "devices.hmac.window": "1m", "devices.hmac.nonces": "9",
        "devices.cors.origins": "\"https://app.example.com\"", "devices.cors.headers": "x-app",
        "devices.accept": "json",
        "devices.per_address.rate": "5/s", "devices.per_address.bytes": "5KiB/s",
        "devices.per_address.max_addresses": "100",
        "devices.trusted_proxies": "10.0.0.0/8", "devices.proxy_protocol": "true",
        "devices.duplicates.window": "1h", "devices.duplicates.max": "1",
        "filters": "[{steps: [{drop: true}]}]", "filters_secret": "0123456789abcdef",
        "routes": "[{to: app}]", "unrouted": "drop",
        "webhook.url": "\"https://hooks.example.com/\"", "webhook.authorization": "Basic",
        "webhook.plain_http": "true", "webhook.timeout": "1s", "webhook.interval": "1h",
        "webhook.resolve": "lab", "destinations.NAME.resolve": "lab",
        "resolvers": "{other: {kind: static, hosts: {a.b: [192.0.2.1]}}}",
        "names.ttl_min": "5s", "names.ttl_max": "2h", "names.max_stale": "2h",
        "names.timeout": "1s", "names.patience": "2s", "names.max_hosts": "9",
        "log.level": "debug", "log.format": "json",
        "limits.request_line": "1KiB", "limits.head": "32KiB", "limits.fields": "9",
        "limits.chunk_extensions": "2KiB", "limits.trailers": "2KiB", "limits.body": "1MiB",
        "limits.inflated_body": "1MiB", "limits.inflate_ratio": "5",
        "limits.heads_in_flight": "16MiB", "limits.answer": "1MiB",
        "limits.answers_in_flight": "16MiB", "limits.body_rate": "2KiB/s",
        "limits.answer_rate": "2KiB/s", "limits.delivery_memory": "32MiB",
        "limits.bodies_in_flight": "32MiB", "limits.json_depth": "5", "limits.connections": "5",
        "limits.log_fields": "256", "limits.tags": "256", "limits.label_sets": "5",
        "limits.labels": "5",
        "limits.connections_per_address": "5", "limits.head_timeout": "1s",
        "limits.body_timeout": "1s", "limits.idle_timeout": "1s", "limits.write_timeout": "1s",
        "limits.captures": "32MiB", "limits.large_wait": "1s", "limits.device_nice": "1",
        "destinations.NAME.endpoint": "cn-hangzhou-vpc.log.aliyuncs.com",
        "destinations.NAME.project": "other-project", "destinations.NAME.logstore": "other",
        "destinations.NAME.max_logstores": "5", "destinations.NAME.region": "cn-beijing",
        "destinations.NAME.credential": "other", "destinations.NAME.signature": "v1",
        "destinations.NAME.proxy": "http://10.0.0.1:3128",
        "destinations.NAME.ca_file": "/etc/passwd", "destinations.NAME.compress": "zstd",
        "destinations.NAME.packet.bytes": "2KiB", "destinations.NAME.packet.logs": "2",
        "destinations.NAME.packet.age": "2s", "destinations.NAME.concurrency": "2",
        "destinations.NAME.connect_timeout": "2s", "destinations.NAME.send_timeout": "2s",
        "destinations.NAME.stall_timeout": "2s", "destinations.NAME.exactly_once": "true",
        "destinations.NAME.lanes": "2", "destinations.NAME.drop_unauthorized": "true",
        "destinations.NAME.clock_offset": "2s", "destinations.NAME.topic": "t",
        "destinations.NAME.source": "s", "destinations.NAME.tags": "{env: prod}",
        "destinations.NAME.late_logs": "drop", "destinations.NAME.max_log_delay": "1d",
        "destinations.NAME.oversize": "dead_letter", "destinations.NAME.fold_tags": "all",
        "destinations.NAME.keep_pack_id": "true", "destinations.NAME.max_bytes": "1GiB",
        "destinations.NAME.max_age": "1d", "destinations.NAME.overflow": "drop_oldest",
        "destinations.NAME.fresh_first": "10%", "destinations.NAME.stamp.client_ip": "ip",
        "destinations.NAME.stamp.key": "who", "destinations.NAME.stamp.subject": "sub",
        "destinations.NAME.stamp.certificate": "cert", "destinations.NAME.stamp.receipt": "r",
        "destinations.NAME.required": "false", "destinations.NAME.retry.first": "2s",
        "destinations.NAME.retry.most": "2m", "destinations.NAME.retry.times": "2",
        "credentials.encryption_key":
            "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "credentials.NAME.from": "environment", "credentials.NAME.access_key_id": "other",
        "credentials.NAME.access_key_secret": "other", "credentials.NAME.security_token": "other",
    ]

    @Test("No key was forgotten here")
    func complete() {
        // Other sources than the static one are compared as a whole.
        let sources = KnownKeys.all.filter { $0.hasPrefix("credentials.NAME.") }
        // `DestinationKindTests` has other kinds of destinations.
        let kinds = KnownKeys.ofOtherKinds.union(
            ["kind", "preset"].map { "destinations.NAME.\($0)" }
        )
        let known = KnownKeys.all.subtracting(sources).subtracting(kinds)
        #expect(known.subtracting(Self.others.keys).sorted() == [])
        #expect(Set(Self.others.keys).subtracting(KnownKeys.all).sorted() == [])
    }

    @Test("Each change is told by its key, and the immediate ones leave nothing to be done")
    func each() throws {
        for (key, value) in Self.others.sorted(by: { $0.key < $1.key }) {
            var base = Self.base
            if key == "destinations.NAME.lanes" { base["destinations.app.exactly_once"] = "true" }
            // Without a bound of its own the share of the queue would be another change.
            if key == "destinations.NAME.required" { base["destinations.app.max_bytes"] = "1GiB" }
            if key == "webhook.authorization" { base["webhook.url"] = "\"https://example.com\"" }
            base.merge(Self.company[key] ?? [:]) { $1 }
            if key.hasPrefix("queue.jetstream.") {
                base["queue.engine"] = "jetstream"
                base["queue.jetstream.servers"] = "\"nats://n1\""
            }
            if key.hasPrefix("queue.postgresql.") {
                base["queue.engine"] = "postgresql"
                base["queue.postgresql.url"] = "\"postgresql://joe:canary@db1/logs\""
            }
            let before = try configuration(text(base))
            let after = try configuration(text(changed(base, key, value)))
            let changes = before.changes(to: after)
            #expect(changes.count == 1, "\(key): \(changes)")
            let told = changes.first?.key ?? ""
            let place = Self.place(of: key)
            #expect(place == told || place.hasPrefix(told + "."), "\(key): \(told)")
            var running = before
            running.apply(after)
            #expect(running.changes(to: after) == changes.filter { !$0.isImmediate }, "\(key)")
            let isOfDestination = told.hasPrefix("destinations.")
            #expect(!isOfDestination || changes.allSatisfy(\.isImmediate), "\(key)")
        }
    }

    /// What must be there for a key to mean something.
    private static let company: [String: [String: String]] = {
        let pair = ["admin.tls.certificate": "/a.pem", "admin.tls.key": "/a.key"]
        let own = ["tls.certificate": "/a.pem", "tls.key": "/a.key"]
        let tokens = [
            "devices.jwt.algorithm": "HS256",
            "devices.jwt.keys": "[{kid: a, secret: 0123456789abcdef0123456789abcdef}]",
        ]
        let user = ["queue.jetstream.user": "joe", "queue.jetstream.password": "a"]
        let brokers = [
            "queue.jetstream.tls.certificate": "/a.pem", "queue.jetstream.tls.key": "/a.key",
        ]
        let lab = ["resolvers": "{lab: {kind: static, hosts: {a.b: [192.0.2.1]}}}"]
        return [
            "queue.jetstream.user": user, "queue.jetstream.password": user,
            "queue.jetstream.tls.certificate": brokers, "queue.jetstream.tls.key": brokers,
            "destinations.NAME.resolve": lab,
            "webhook.resolve": lab.merging(["webhook.url": "\"https://example.com\""]) { $1 },
            "devices.jwt.keys": tokens, "devices.jwt.audience": tokens,
            "devices.jwt.issuer": tokens, "devices.jwt.leeway": tokens,
            "devices.jwt.destinations_claim": tokens,
            "tls.listen": own, "tls.certificate": own, "tls.key": own, "tls.certificates": own,
            "tls.client_ca": own, "tls.minimum_version": own,
            "tls.client_crl": own.merging(["tls.client_ca": "/ca.pem"]) { $1 },
            "tls.deny": own.merging(["tls.client_ca": "/ca.pem"]) { $1 },
            "admin.tls.client_crl": pair.merging(["admin.tls.client_ca": "/ca.pem"]) { $1 },
            "admin.tls.deny": pair.merging(["admin.tls.client_ca": "/ca.pem"]) { $1 },
            "tls.client_certificates": own.merging(["tls.client_ca": "/ca.pem"]) { $1 },
            "admin.tls.certificate": pair, "admin.tls.key": pair, "admin.tls.certificates": pair,
            "admin.tls.client_ca": pair, "admin.tls.minimum_version": pair,
            "admin.tls.client_certificates": pair.merging(["admin.tls.client_ca": "/ca.pem"]) {
                $1
            },
            "devices.proxy_protocol": ["devices.trusted_proxies": "10.0.0.1"],
            "admin.client.key": ["admin.client.certificate": "/c.pem"],
        ]
    }()

    /// Files of certificates are no matter here.
    private func configuration(_ text: String) throws -> GatewayConfiguration {
        let directory = TemporaryDirectory()
        var inputs = ConfigurationInputs(
            file: directory.file("sluice.yaml", text),
            environment: testKeys
        )
        inputs.readsCertificates = false
        return try .read(inputs)
    }

    private static let base = [
        "destinations.app.endpoint": "cn-hangzhou.log.aliyuncs.com",
        "destinations.app.project": "my-project", "destinations.app.logstore": "\"*\"",
        "destinations.app.credential": "main", "credentials.main.from": "static",
        "credentials.main.access_key_id": "a", "credentials.main.access_key_secret": "b",
        "credentials.other.from": "static",
        "credentials.other.access_key_id": "c", "credentials.other.access_key_secret": "d",
    ]

    /// Where a key shows: what the queue says for destinations is theirs.
    private static func place(of key: String) -> String {
        switch key {
        case "queue.overflow", "queue.fresh_first":
            key.replacing("queue.", with: "destinations.app.")
        default:
            key.replacing("destinations.NAME", with: "destinations.app")
                .replacing("credentials.NAME", with: "credentials.main")
        }
    }

    private func changed(_ base: [String: String], _ key: String, _ value: String)
        -> [String: String]
    {
        var changed = base
        if key == "credentials.NAME.from" {
            changed = base.filter { !$0.key.hasPrefix("credentials.main.") }
        }
        if key.hasSuffix("tls.certificates") {
            let group = key.dropLast("certificates".count)
            changed = base.filter { !$0.key.hasPrefix(group) }
        }
        changed[key.hasPrefix("queue.") ? key : Self.place(of: key)] = value
        return changed
    }

    /// The settings as YAML, by the parts of their keys.
    private func text(_ settings: [String: String]) -> String {
        var groups: [String: [String: String]] = [:]
        var fields: [String] = []
        for (key, value) in settings {
            let parts = key.split(separator: ".", maxSplits: 1).map(String.init)
            if parts.count == 1 {
                fields.append("\(key): \(value)")
            } else {
                groups[parts[0], default: [:]][parts[1]] = value
            }
        }
        fields += groups.map { "\($0.key): \(text($0.value))" }
        return "{" + fields.joined(separator: ", ") + "}"
    }
}
