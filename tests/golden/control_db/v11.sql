BEGIN TRANSACTION;
CREATE TABLE attempts (
    epoch INTEGER PRIMARY KEY, job TEXT NOT NULL, state TEXT NOT NULL, mesh TEXT NOT NULL,
    tile_tokens INTEGER NOT NULL, chunk_tokens INTEGER NOT NULL,
    collective_timeout REAL NOT NULL, started INTEGER NOT NULL, ended INTEGER NOT NULL,
    stop_reason TEXT NOT NULL, stop_mode TEXT NOT NULL,
    cause TEXT NOT NULL, cause_rank INTEGER NOT NULL,
    checkpoint_step INTEGER NOT NULL, checkpoint_path TEXT NOT NULL, stages_done INTEGER NOT NULL
, zero INTEGER NOT NULL DEFAULT 0, keep TEXT NOT NULL DEFAULT 'input+attention', alpha REAL NOT NULL DEFAULT 1, kept TEXT NOT NULL DEFAULT 'device', working TEXT NOT NULL DEFAULT 'whole', prefetch INTEGER NOT NULL DEFAULT 1, arena TEXT NOT NULL DEFAULT 'reuse', device_limit INTEGER NOT NULL DEFAULT 0, host_limit INTEGER NOT NULL DEFAULT 0, failure_class TEXT NOT NULL DEFAULT 'none', may_publish INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "attempts" VALUES(7,'abc123','failed','1x2x1x1',64,128,60.0,1700000001000000,1700000099000000,'failure','graceful','rank 1: out of cheese',1,10,'/shared/ckpt/abc123/e7-s10',0,2,'input',1.0,'device','whole',1,'reuse',0,0,'rank',0);
CREATE TABLE devices (
    node TEXT NOT NULL, position INTEGER NOT NULL,
    device INTEGER NOT NULL, kind TEXT NOT NULL, memory INTEGER NOT NULL,
    fp32_flops REAL NOT NULL, fp32_name TEXT NOT NULL, num_threads INTEGER NOT NULL, bf16_flops REAL NOT NULL DEFAULT 0, bf16_name TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (node, position)
) STRICT, WITHOUT ROWID;
INSERT INTO "devices" VALUES('n1',0,0,'cpu',34359738368,1000000000000.0,'avx',4,0.0,'');
INSERT INTO "devices" VALUES('n1',1,1,'cpu',34359738368,1000000000000.0,'avx',4,0.0,'');
CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL, kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    fields TEXT NOT NULL  -- a JSON object of changed columns; every value a string, null: gone
) STRICT;
INSERT INTO "events" VALUES(1,1700000000000000,'job.submitted','job/abc123','{"id":"abc123","state":"pending"}');
CREATE TABLE jobs (
    id TEXT PRIMARY KEY, number INTEGER NOT NULL UNIQUE, request_id TEXT NOT NULL UNIQUE,
    project TEXT NOT NULL, owner TEXT NOT NULL, state TEXT NOT NULL,
    submitted INTEGER NOT NULL, ended INTEGER NOT NULL,
    blocking_reasons TEXT NOT NULL, failure TEXT NOT NULL, yaml TEXT NOT NULL,
    name TEXT NOT NULL, model_preset TEXT NOT NULL,
    data_sources TEXT NOT NULL, data_format TEXT NOT NULL, data_tokenizer TEXT NOT NULL,
    data_holdout REAL NOT NULL, seed INTEGER NOT NULL, parallel TEXT NOT NULL,
    memory_tile INTEGER NOT NULL, memory_chunk INTEGER NOT NULL, precision TEXT NOT NULL,
    optimizer_beta1 REAL NOT NULL, optimizer_beta2 REAL NOT NULL, optimizer_eps REAL NOT NULL,
    optimizer_weight_decay REAL NOT NULL, optimizer_clip_norm REAL NOT NULL,
    resources_devices INTEGER NOT NULL, resources_kind TEXT NOT NULL,
    checkpoint_dir TEXT NOT NULL, checkpoint_every_steps INTEGER NOT NULL,
    checkpoint_keep INTEGER NOT NULL,
    evaluation_every_steps INTEGER NOT NULL, evaluation_tokens INTEGER NOT NULL
, model_from TEXT NOT NULL DEFAULT '', export_huggingface TEXT NOT NULL DEFAULT '', zero INTEGER NOT NULL DEFAULT 0, data_documents TEXT NOT NULL DEFAULT 'joined', data_positions TEXT NOT NULL DEFAULT 'reset', optimizer_place TEXT NOT NULL DEFAULT 'device', optimizer_moments TEXT NOT NULL DEFAULT 'fp32', memory_keep TEXT NOT NULL DEFAULT 'auto', memory_alpha TEXT NOT NULL DEFAULT '', memory_offload TEXT NOT NULL DEFAULT 'auto', memory_windows TEXT NOT NULL DEFAULT 'auto', memory_prefetch INTEGER NOT NULL DEFAULT 1, memory_arena TEXT NOT NULL DEFAULT 'reuse', memory_device TEXT NOT NULL DEFAULT '', memory_host TEXT NOT NULL DEFAULT '', retry_at INTEGER NOT NULL DEFAULT 0, excluded TEXT NOT NULL DEFAULT '', continues TEXT NOT NULL DEFAULT '', recovered INTEGER NOT NULL DEFAULT 0, checkpoint_from TEXT NOT NULL DEFAULT '', retry_max INTEGER NOT NULL DEFAULT 3, retry_lost_after REAL NOT NULL DEFAULT 1800, priority INTEGER NOT NULL DEFAULT 0, resources_placement TEXT NOT NULL DEFAULT '', checkpoint_every REAL NOT NULL DEFAULT 600, optimizer_max_skipped INTEGER NOT NULL DEFAULT 10) STRICT;
INSERT INTO "jobs" VALUES('abc123',1,'request-1','default','ada','failed',1700000000000000,1700000100000000,'','rank 1: out of cheese','name: old
','old','tiny','/data/a@0.25
/data/b@0.75','text','bytes',0.01,7,'1x2x1x1',64,128,'bf16',0.9,0.95,1.0e-08,0.1,1.0,2,'cpu','/shared/ckpt',10,3,5,4096,'','/shared/out',2,'separate','running','device','bf16','input','','auto','auto',1,'reuse','40GiB','',0,'n1:1','',0,'',5,1800.0,4,'n1:1
n1:0',90.0,4);
CREATE TABLE meta (
    cluster_id TEXT NOT NULL, next_epoch INTEGER NOT NULL
, restored INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "meta" VALUES('c0ffee',8,0);
CREATE TABLE nodes (
    id TEXT PRIMARY KEY, number INTEGER NOT NULL UNIQUE, state TEXT NOT NULL,
    hostname TEXT NOT NULL, os TEXT NOT NULL, cpu_model TEXT NOT NULL,
    num_cores INTEGER NOT NULL, memory INTEGER NOT NULL,
    data_address TEXT NOT NULL, http_address TEXT NOT NULL,
    boot_id TEXT NOT NULL, build TEXT NOT NULL,
    joined INTEGER NOT NULL, last_seen INTEGER NOT NULL
, drained TEXT NOT NULL DEFAULT '') STRICT;
INSERT INTO "nodes" VALUES('n1',1,'ready','host-1','linux','cpu',8,68719476736,'10.0.0.1','','boot','b1',1699999999000000,1700000099000000,'for repair');
CREATE TABLE placements (
    epoch INTEGER NOT NULL, position INTEGER NOT NULL,  -- the rank
    node TEXT NOT NULL, device INTEGER NOT NULL, state TEXT NOT NULL,
    exit_code INTEGER NOT NULL, exit_signal INTEGER NOT NULL, error TEXT NOT NULL,
    PRIMARY KEY (epoch, position)
) STRICT, WITHOUT ROWID;
INSERT INTO "placements" VALUES(7,0,'n1',0,'cleared',0,0,'');
INSERT INTO "placements" VALUES(7,1,'n1',1,'cleared',1,0,'out of cheese');
CREATE TABLE profiles (
    kind TEXT NOT NULL, driver TEXT NOT NULL, build TEXT NOT NULL, bf16_flops REAL NOT NULL,
    text TEXT NOT NULL,  -- docs/formats/device_profile.md
    node TEXT NOT NULL, time INTEGER NOT NULL,
    PRIMARY KEY (kind, driver)
) STRICT, WITHOUT ROWID;
INSERT INTO "profiles" VALUES('L40S','570.86.10','b1',180000000000000.0,'{}
','n1',1700000050000000);
CREATE TABLE prompts (
    job TEXT NOT NULL, position INTEGER NOT NULL,
    prompt TEXT NOT NULL, tokens INTEGER NOT NULL, temperature REAL NOT NULL, top_p REAL NOT NULL,
    seed INTEGER NOT NULL,
    PRIMARY KEY (job, position)
) STRICT, WITHOUT ROWID;
INSERT INTO "prompts" VALUES('abc123',0,'Once',9,0.5,0.9,7);
CREATE TABLE stages (
    job TEXT NOT NULL, position INTEGER NOT NULL,
    context INTEGER NOT NULL, batch INTEGER NOT NULL, tokens INTEGER NOT NULL,
    rope_theta REAL NOT NULL, learning_rate REAL NOT NULL, warmup_steps INTEGER NOT NULL,
    schedule TEXT NOT NULL, final_learning_rate REAL NOT NULL,
    PRIMARY KEY (job, position)
) STRICT, WITHOUT ROWID;
INSERT INTO "stages" VALUES('abc123',0,8192,8192,81920,500000.0,0.0003,2,'cosine',1.0e-05);
CREATE TABLE suites (
    job TEXT NOT NULL, position INTEGER NOT NULL,
    suite TEXT NOT NULL, name TEXT NOT NULL, every_steps INTEGER NOT NULL,
    lengths TEXT NOT NULL,  -- one per line, as are the tasks
    samples INTEGER NOT NULL, depths INTEGER NOT NULL, distractors INTEGER NOT NULL,
    digits INTEGER NOT NULL, tasks TEXT NOT NULL, seed INTEGER NOT NULL,
    PRIMARY KEY (job, position)
) STRICT, WITHOUT ROWID;
INSERT INTO "suites" VALUES('abc123',0,'ruler','tasks',10,'4096
8192',3,5,0,4,'vt
cwe',7);
CREATE INDEX attempts_of_job ON attempts (job, epoch);
CREATE INDEX events_of_subject ON events (subject, seq);
COMMIT;
PRAGMA user_version = 11;
