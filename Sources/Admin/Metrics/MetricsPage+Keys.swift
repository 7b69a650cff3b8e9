import Ingest
import System
import Tokens

extension MetricsPage {
    /// What came with each key, by the name that the operator gave it.
    mutating func deviceKeys(_ keys: [(name: String, counts: KeyCounter.Counts)]) {
        family("sluice_device_key_requests_total", .counter, "Requests stored, by their key.") {
            for (name, counts) in keys { $0.add(counts.requests, ["key": name]) }
        }
        family("sluice_device_key_logs_total", .counter, "Logs stored, by their key.") {
            for (name, counts) in keys { $0.add(counts.logs, ["key": name]) }
        }
        family(
            "sluice_device_key_body_bytes_total",
            .counter,
            "Bodies of stored logs, inflated, by their key."
        ) {
            for (name, counts) in keys { $0.add(counts.bodyBytes, ["key": name]) }
        }
        family(
            "sluice_device_key_refused_total",
            .counter,
            "Requests that a key's own rules refused, by the rule."
        ) {
            for (name, counts) in keys {
                for (reason, count) in counts.refused.sorted(by: { $0.key < $1.key }) {
                    $0.add(count, ["key": name, "reason": reason])
                }
            }
        }
    }

    /// What came with none.
    mutating func strangers(_ strangers: [(reason: String, count: Int)]) {
        family(
            "sluice_device_strangers_total",
            .counter,
            "Requests refused because they prove no known sender, by reason."
        ) {
            for (reason, count) in strangers { $0.add(count, ["reason": reason]) }
        }
    }

    mutating func signedRequests(nonces: Int) {
        family(
            "sluice_device_nonces",
            .gauge,
            "Nonces of signed requests that are remembered; devices.hmac.nonces at most."
        ) {
            $0.add(nonces)
        }
    }

    mutating func tokens(_ count: Int) {
        family("sluice_device_tokens", .gauge, "Good tokens that are remembered; 20,000 at most.") {
            $0.add(count)
        }
    }

    /// Keys of issuers that publish them.
    mutating func tokenKeys(_ sources: [TokenKeySources.Status], now: WallTime) {
        family(
            "sluice_device_token_keys",
            .gauge,
            "Keys of an issuer of tokens that are known here."
        ) {
            for source in sources { $0.add(source.keys.keys, ["source": source.name]) }
        }
        family(
            "sluice_device_token_keys_age_seconds",
            .gauge,
            "Seconds since an issuer's keys were fetched; absent before the first fetch."
        ) {
            for source in sources {
                guard let fetched = source.keys.fetched else { continue }
                $0.add(seconds: now - fetched, ["source": source.name])
            }
        }
        family(
            "sluice_device_token_keys_fetches_total",
            .counter,
            "Fetches of an issuer's keys, by outcome."
        ) {
            for source in sources {
                $0.add(source.keys.fetches, ["source": source.name, "outcome": "fetched"])
                $0.add(source.keys.failures, ["source": source.name, "outcome": "failed"])
            }
        }
    }
}
