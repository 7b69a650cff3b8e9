import Configuration
import TestConfiguration
import Testing

@Suite struct ConfigurationSummaryTests {
    private let keys = [
        "ALIBABA_CLOUD_ACCESS_KEY_ID": "LTAI-0123456789", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "hush",
    ]

    @Test("The summary says what was chosen, and shows no secret")
    func summary() throws {
        let configuration = try read(
            """
            destinations:
              app:
                endpoint: [cn-hangzhou.log.aliyuncs.com, log-global.aliyuncs.com]
                project: my-project
                logstore: app-log
                exactly_once: true
                proxy: http://me:hush@10.0.0.1:3128
                late_logs: dead_letter
                fold_tags: [device_id]
                max_bytes: 1GiB
                overflow: drop_oldest
                fresh_first: 20%
            """,
            keys
        )
        #expect(
            ConfigurationSummary.text(configuration) == """
                configuration is fine
                  devices      [::]:8080
                  admin        127.0.0.1:8081, with a token of its own making
                  queue        /var/lib/sluice, engine sqlite, up to 4GiB or 7d, durability full
                  destination  app (default): my-project/app-log at https://cn-hangzhou.log.aliyuncs.com, else https://log-global.aliyuncs.com, signature v4, key LTAI…6789
                               each log exactly once, 16 lanes for a logstore
                               through the proxy http://me:•••@10.0.0.1:3128
                               logs too old for SLS become dead letters
                               devices' tags device_id become fields of their logs
                               queued up to 1GiB, the oldest dropped when full, 20% for fresh logs
                  warning      the device listener [::]:8080 can be reached from other machines, and whoever reaches it may send logs; give devices keys (devices.keys), or listen on 127.0.0.1
                """
        )
    }

    @Test("Of what nobody chose nothing is said")
    func plain() throws {
        let quiet = minimal + "listen: 127.0.0.1:8080\n"
        #expect(ConfigurationSummary.text(try read(quiet, keys)).split(separator: "\n").count == 5)
    }
}
